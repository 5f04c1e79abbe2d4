mixtura inspect no-such-model.gguf
