for form in tokenizer.json vocab.gguf; do
    mixtura tokenize "$GOLDEN/tokenizers/bpe-llama3/$form" --text "Hello, wörld! 你好"
done
mixtura tokenize "$GOLDEN/tokenizers/bpe-llama3" --text "Hi" --bos --json
