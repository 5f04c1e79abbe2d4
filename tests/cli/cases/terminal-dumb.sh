# stdout: terminal
TERM=dumb mixtura inspect "$GOLDEN/tokenizers/unigram/vocab.gguf"
