// The shape of the key/value cache that a model's layers ask for.
#pragma once

#include <mixtura/cache_dtypes.hpp>
#include <mixtura/kv_cache.hpp>

#include "kernels/attention.hpp"
#include "model/spec.hpp"

namespace mixtura {

// Keys and values of every layer, its latent rows or its state, an encoder's none; layers that see equally far back
// share a group.
KVDescription cache_description(const ModelSpec& spec, CacheDTypes dtypes, std::int64_t tokens_max);

// The layer of that cache that holds the keys and values of the encoder's output for model layer `layer`, which has a
// CrossSpec: they stand behind those of the model's own layers.
std::size_t cross_place(const ModelSpec& spec, std::size_t layer) noexcept;

// INVALID_ARGUMENT for a pair that is no choice, or not this model's: latent rows are keys and values at once.
Status check_cache_dtypes(const ModelSpec& spec, CacheDTypes dtypes);

// A layer's rows as attention reads them: keys of plane 0, values of plane `value_plane` (0 too for latent rows).
AttentionCache cached_rows(const KVView& view, std::size_t value_plane);

}  // namespace mixtura
