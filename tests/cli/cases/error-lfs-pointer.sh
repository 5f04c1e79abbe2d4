printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4221\n' > model.safetensors
mixtura inspect model.safetensors
