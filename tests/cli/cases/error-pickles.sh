printf '\200\002.' > pytorch_model.bin
mixtura inspect .
