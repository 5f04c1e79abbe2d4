// The sizes every family states, found under whatever name this file's family gives them.
#pragma once

#include <mixtura/checkpoint.hpp>

#include <string_view>

#include "formats/json.hpp"

namespace mixtura {

// `values`: a ModelConfig's, of the given source.  CORRUPT_FILE when a size is no number or is negative or absurd.
Result<ModelFacts> model_facts(CheckpointFormat source, JsonValue values, std::string_view file);

}  // namespace mixtura
