// The shape of the key/value cache that a model's layers ask for.
#pragma once

#include <mixtura/kv_cache.hpp>

#include "model/spec.hpp"

namespace mixtura {

// Keys and values of every layer, its latent rows or its state; layers that see equally far back share a group.
KVDescription cache_description(const ModelSpec& spec, DType dtype, std::int64_t tokens_max);

}  // namespace mixtura
