# The same bits, however the tokens are fed.
ids=3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3,2,3,8,4,6,2,6,4,3,3,8,3,2,7,9,5,0,2,8,8
mixtura logits "$GOLDEN/models/qwen3" --ids $ids --out whole.safetensors > whole.txt
for how in "--chunk 1" "--chunk 7 --threads 2" "--threads 1"; do
    mixtura logits "$GOLDEN/models/qwen3" --ids $ids $how --out part.safetensors > part.txt
    cmp whole.safetensors part.safetensors && cmp whole.txt part.txt && echo "$how: the same"
done
mixtura logits "$GOLDEN/models/qwen3" --ids $ids | cmp - whole.txt && echo "without a file: the same"
mixtura logits "$GOLDEN/models/qwen3" --ids $ids --cache-dtype bf16 | cmp -s - whole.txt || echo "bf16: another rounding"
ls
