# Keys and values of 4 heads of 16 in 3 layers, 32 blocks: q8 needs whole blocks of 32 elements, so here f16 takes less.
for how in f32 f16 f16+f8 q8 f8; do
    mixtura inspect "$GOLDEN/gguf/gpt2.gguf" --context 1000 --cache-dtype $how --json |
        sed -n "s/.*\"cache_bytes\": \([0-9]*\),/$how \1/p"
done
