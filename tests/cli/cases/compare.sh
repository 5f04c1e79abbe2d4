# Nothing that a clock decides: --rounds 0; digits that another C library's exp and log may change are cut off.
mixtura compare "$GOLDEN/models/qwen3-moe" cache=f32 top-k=1 --tokens 40 --rounds 0
mixtura compare "$GOLDEN/models/qwen3-moe" default cache=f16 --ids 1,2,3 --rounds 0
mixtura compare "$GOLDEN/models/qwen3" default cache=f32 --ids 1,2,3 --rounds 0 --json |
    sed -E 's/([0-9]\.[0-9]{6})[0-9]+/\1/g'
mixtura compare "$GOLDEN/models/deepseek-moe" default weights=mixed --ids 1,2,3,4,5 --rounds 0
