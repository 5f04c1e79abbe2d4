mixtura inspect "$(printf '\033[2J\033]0;owned\007model\377.gguf')"
