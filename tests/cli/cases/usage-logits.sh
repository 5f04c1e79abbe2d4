mixtura logits "$GOLDEN/models/qwen3"
echo "exit $?"
mixtura logits "$GOLDEN/models/qwen3" --ids 1,x
echo "exit $?"
mixtura logits "$GOLDEN/models/qwen3" --ids 1 --chunk 0
echo "exit $?"
mixtura logits "$GOLDEN/models/qwen3" --ids 1 --cache-dtype f64
echo "exit $?"
