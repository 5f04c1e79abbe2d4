# Names and values from a file reach the terminal with their control bytes and broken UTF-8 spelt out.
make_gguf model.gguf general.architecture='\x1b[2Jllama' general.name='\x1b]0;owned\x07\x9b2J\xc2\x9b\xff' general.size_label='7B\x0d\x0a' tokenizer.ggml.model='\x1b[31m' \
    -- 'a\x1b[31m.0.w' 'b\xc2\x9bc' 'line\x0abreak' 'rub\x7fout' 'gr\xc3\xbcn'
mixtura inspect model.gguf
mixtura inspect --tensors model.gguf
