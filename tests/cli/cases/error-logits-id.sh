for ids in 1,2,160 1,-1 4294967296; do
    mixtura logits "$GOLDEN/models/qwen3" --ids=$ids --out out.safetensors
    echo "exit $?"
done
ls
