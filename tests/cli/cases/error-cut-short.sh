make_safetensors cut.safetensors '{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}' 10
mixtura inspect cut.safetensors
