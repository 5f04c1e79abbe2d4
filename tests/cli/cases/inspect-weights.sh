mixtura inspect "$GOLDEN/models/qwen3-moe" --weights mixed | tail -24
mixtura complete "$GOLDEN/models/qwen3-moe" --ids 1,2,3 --max-tokens 4 --json --weights experts=q8_0 | sed -E 's/.*"tokens":([^]]*]).*/\1/'
