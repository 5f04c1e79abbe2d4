# stdout: terminal
NO_COLOR=1 mixtura inspect "$GOLDEN/gguf/llama.gguf"
