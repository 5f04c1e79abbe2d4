mixtura inspect "$GOLDEN/gguf/gpt2.gguf" --context 33 | sed -n '/in memory/,$p'
mixtura inspect "$GOLDEN/gguf/gpt2.gguf" --context 0
