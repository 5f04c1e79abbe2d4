mixtura inspect "$GOLDEN/gguf/llama.gguf" > /dev/full
