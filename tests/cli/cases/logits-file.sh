reference="$GOLDEN/models/qwen3/reference.safetensors"
mixtura logits "$GOLDEN/models/qwen3" --ids "$(golden_logits ids "$reference")" --cache-dtype f32 --out out.safetensors > /dev/null
golden_logits compare "$reference" out.safetensors
mixtura inspect out.safetensors | grep tensors
