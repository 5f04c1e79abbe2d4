mixtura inspect "$GOLDEN/models/qwen3-moe"
