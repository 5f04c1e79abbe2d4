mixtura inspekt model.gguf
