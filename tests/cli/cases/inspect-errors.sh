mixtura inspect "$GOLDEN/models/qwen3-moe" --weights mixed,attention=keep --errors | tail -5
mixtura inspect "$GOLDEN/models/qwen3-moe" --errors | tail -1
mixtura inspect "$GOLDEN/models/qwen3-moe" --weights experts.down=q8_0 --errors --json | grep -E -A 7 '"weight_errors"'
mixtura inspect "$GOLDEN/models/qwen3-moe" --weights everything --errors
