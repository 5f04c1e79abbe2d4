mixtura inspect "$GOLDEN/gguf/qwen3.gguf" --json
