folder="$(printf 'mo\033[2Jdel')"
mkdir "$folder"
make_gguf "$folder/model.gguf" general.architecture=llama -- blk.0.w
mixtura inspect "$folder"
