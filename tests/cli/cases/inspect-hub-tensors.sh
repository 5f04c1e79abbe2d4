mixtura inspect --tensors "$GOLDEN/models/gpt2"
