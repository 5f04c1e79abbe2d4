mixtura bench "$GOLDEN/models/qwen3" --prefill 0 --decode 4 --batch 3 --repeat 1 --threads 1 | sed -E 's/ +/ /g; s/ [0-9,.]+ 1$/ … 1/'
