# Nothing that a clock decides: --rounds 0.
MODEL="$XDG_CACHE_HOME/mixtura/SmolLM2-8x135M-Instruct.Q8_0.gguf"
echo "It was the best of times, it was the worst of times, it was the age of wisdom." > text.txt
mixtura compare "$MODEL" cache=f32 top-k=1 --text text.txt --rounds 0
mixtura compare "$MODEL" default "file=$GOLDEN/models/qwen3" --text text.txt
