# stdout: terminal
# no-color.org: an empty value asks for nothing.
NO_COLOR= mixtura inspect "$GOLDEN/gguf/llama.gguf" | head -1
NO_COLOR= mixtura inspect "$GOLDEN/tokenizers/unigram/vocab.gguf"
