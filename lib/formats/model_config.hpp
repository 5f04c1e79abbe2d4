// What a model's own files say about its architecture, as plain values in one form.
//   Hub folders: config.json in either form in use (today's `rope_parameters` and `dtype`; published files'
//   `rope_theta`,
//     `rope_scaling`, `torch_dtype`, text models nested under `text_config`) becomes today's form with sorted keys; the
//     same model gives the same text.
//   GGUF: every metadata key outside `tokenizer.` and `split.` under its own name.
// Families (model/arch) read the values they know by key; ModelFacts are the sizes all of them share.
#pragma once

#include <mixtura/checkpoint.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.hpp"
#include "formats/json.hpp"

namespace mixtura {

// generation_config.json (or what GGUF metadata holds of it); nothing where a value is not stated.
struct GenerationDefaults {
    std::optional<TokenId> bos_token;
    std::vector<TokenId> end_tokens;  // ascending, each once
    std::optional<bool> do_sample;
    std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty;
    std::optional<std::int64_t> top_k, max_new_tokens;
};

struct ModelConfig {
    CheckpointFormat source = CheckpointFormat::unknown;
    std::string text;     // the canonical form as JSON
    JsonDocument values;  // the same, parsed: an object
    ModelFacts facts;
    GenerationDefaults generation;
};

// `config` is config.json's text; `generation` generation_config.json's, or nothing.  `folder` names them in messages.
// CORRUPT_FILE for anything that is not an object or states a size as something else than a number.
Result<ModelConfig> hub_model_config(std::string_view config, std::optional<std::string_view> generation,
                                     std::string_view folder);
Result<ModelConfig> gguf_model_config(const GgufHeader& header, std::string_view file);

// A JSON value as text: keys sorted, no spaces, whole reals as integers.  Equal values give equal text.
std::string canonical_json(JsonValue value);

}  // namespace mixtura
