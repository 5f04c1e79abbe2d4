# tests/bench/compare.py with a peer that always says the same.
cat > peer <<'END'
#!/bin/sh
echo "a line that is no result"
echo '{"peer": "tortoise", "test": "prefill", "tokens_per_s": 0.5, "runs": 1, "threads": 1, "prompt": 8}'
echo '{"peer": "tortoise", "test": "batched_decode", "tokens_per_s": 0.25, "runs": 1, "threads": 1, "sequences": 2}'
END
chmod +x peer
compare="$(dirname "$0")/../../bench/compare.py"
python3 "$compare" "$GOLDEN/models/qwen3" --mixtura "$(command -v mixtura)" --peer ./peer --rounds 2 --threads 1 --prefill 8 --decode 2 \
    --batch 2 --repeat 1 --append results.md 2> progress |
    sed -E 's/ +/ /g; s/ [0-9.]+ (0\.[0-9]+) [0-9.]+ [0-9.]+$/ … \1 … …/; s/ [0-9.]+ – – [0-9.]+$/ … – – …/; s/[0-9.]+ G/… G/g'
sed -E 's/[0-9.]+ tokens/… tokens/' progress >&2
sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DAY/; s/^.* processors usable; .*$/MACHINE/; s/[0-9]+\.[0-9]+/…/g' results.md
python3 "$compare" model --mixtura "$(command -v mixtura)" --peer ./peer --rounds 1
