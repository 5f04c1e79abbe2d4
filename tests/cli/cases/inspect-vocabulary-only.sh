mixtura inspect "$GOLDEN/tokenizers/spm-bpe/vocab.gguf"
