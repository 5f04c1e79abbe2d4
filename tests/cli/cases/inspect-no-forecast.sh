# An architecture that this version does not compute with is inspected all the same.
make_gguf model.gguf general.architecture=hovercraft -- a.weight
mixtura inspect model.gguf
mixtura inspect model.gguf --json | grep memory
