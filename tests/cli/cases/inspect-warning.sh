# Odd, but no reason to refuse: stdout is the report, stderr the warning, the exit code 0.
make_safetensors model.safetensors '{"model.layers.1.w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' 1
echo '{"model_type":"llama","num_hidden_layers":4}' > config.json
mixtura inspect .
