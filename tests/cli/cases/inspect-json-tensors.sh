make_safetensors a.safetensors '{"a.0.w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"BOOL","shape":[],"data_offsets":[24,25]}}' 25
mixtura inspect a.safetensors --json --tensors
