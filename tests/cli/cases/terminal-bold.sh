# stdout: terminal
mixtura inspect "$GOLDEN/gguf/llama.gguf"
