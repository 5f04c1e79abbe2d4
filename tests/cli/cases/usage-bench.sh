mixtura bench "$GOLDEN/models/qwen3" --repeat 0
echo "exit $?"
mixtura bench "$GOLDEN/models/qwen3" --batch 0
echo "exit $?"
mixtura bench "$GOLDEN/models/qwen3" --prefill -1
echo "exit $?"
