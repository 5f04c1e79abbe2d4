# A name that looks like the pattern of other names is kept apart from them.
make_gguf model.gguf general.architecture=llama -- 'blk.#.w' blk.1.w blk.2.w 'blk.#.#' 'blk.{1-2}.w'
mixtura inspect model.gguf
