mixtura inspect "$GOLDEN/gguf/mixtral.gguf"
