mixtura inspect --fast model.gguf
