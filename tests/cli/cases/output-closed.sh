mixtura inspect "$GOLDEN/gguf/llama.gguf" >&-
