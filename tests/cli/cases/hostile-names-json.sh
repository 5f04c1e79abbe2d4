make_gguf model.gguf general.architecture='\x1b[2Jllama' general.name='\x1b]0;owned\x07\x9b2J\xff' -- 'a\x1b[31m.0.w' 'line\x0abreak' 'rub\x7fout' 'b\xc2\x9bc'
mixtura inspect --json --tensors model.gguf
