for special in all only none; do
    mixtura tokenize "$GOLDEN/tokenizers/bpe-qwen2" --text "a<|im_end|>b" --special $special --json
done
