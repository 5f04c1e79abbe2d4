# What the peer's script prints too, but for the speed.
mixtura bench "$GOLDEN/models/qwen3" --prefill 8 --decode 4 --batch 1 3 --repeat 2 --threads 1 --json | sed -E 's/("tokens_per_s":)[0-9.e+]+/\1…/'
