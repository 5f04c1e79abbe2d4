cd "$XDG_CACHE_HOME/mixtura" && mixtura inspect SmolLM2-8x135M-Instruct.Q8_0.gguf
