mixtura logits "$GOLDEN/models/qwen3" --ids 3,1,4,1,5
