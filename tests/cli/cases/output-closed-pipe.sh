# stdout: closed pipe
# As every filter: SIGPIPE ends it without a word.
mixtura inspect "$GOLDEN/gguf/llama.gguf"
