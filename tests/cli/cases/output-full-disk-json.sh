mixtura inspect --json "$GOLDEN/gguf/llama.gguf" > /dev/full
