// What several families share: rotary embeddings with their scalings, ALiBi, and the tensor names of the two file
// formats.
#pragma once

#include <string>
#include <string_view>

#include "formats/model_files.hpp"
#include "model/arch/config_reader.hpp"
#include "model/spec.hpp"

namespace mixtura {

// Rotary embedding of `rotated_width` elements as the configuration states it: default, linear, llama3.  Another
// scaling is refused by name.
RopeSpec read_rope(ConfigReader& reader, std::int64_t rotated_width, RopePairing pairing);

// Sources by name; optional tensors (biases) only where the index has them.
struct TensorNames {
    const WeightIndex& index;
    WeightSource tensor(std::string name) const;         // absent where the file has none
    LinearSource linear(const std::string& stem) const;  // <stem>.weight and <stem>.bias
    NormSource norm(const std::string& stem) const;
};

// A slice of a fused projection's rows, weight and bias alike.
LinearSource with_rows(LinearSource fused, RowPattern rows);

// The output head: its own tensor, or the token embedding's where the two are tied.
LinearSource head_or_embedding(const WeightIndex& index, std::string_view head, const WeightSource& embedding,
                               bool is_tied);

// Every GGUF file uses the same names ("blk.3.attn_q.weight"), and the families with Llama's layout share theirs.
WeightMap gguf_map(const WeightIndex& index, const ModelSpec& spec);
WeightMap hub_llama_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied);

}  // namespace mixtura
