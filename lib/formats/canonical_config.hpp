// config.json in any of its published forms to today's: one text per model.
#pragma once

#include <string>

#include "formats/json.hpp"

namespace mixtura {

// `root` must be an object.  What changes: a text model nested under text_config is lifted out; rope_theta,
// rope_scaling and partial_rotary_factor become rope_parameters; torch_dtype becomes dtype without its "torch." prefix;
// keys that describe the writer and not the model (transformers_version, _name_or_path …) go.
std::string canonical_config(JsonValue root);

}  // namespace mixtura
