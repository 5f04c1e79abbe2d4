#include "model/cache_of_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cache/cache_dtypes.hpp"

namespace mixtura {

KVDescription cache_description(const ModelSpec& spec, CacheDTypes dtypes, std::int64_t tokens_max) {
    KVDescription description;
    description.groups.clear();
    description.tokens_max = tokens_max;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = layer.attention;
        const auto found =
            std::find_if(description.groups.begin(), description.groups.end(), [&](const KVGroup& group) {
                return group.window_tokens == attention.window_tokens && group.chunk_tokens == attention.chunk_tokens;
            });
        const auto group = static_cast<std::size_t>(found - description.groups.begin());
        if (found == description.groups.end())
            description.groups.push_back({attention.window_tokens, attention.chunk_tokens});
        if (attention.sees_both_ways) {  // within a step, and not after it
            description.layers.push_back({{}, group});
            continue;
        }
        if (layer.recurrent) {
            description.layers.push_back({{}, group, layer.recurrent->state_size()});
            continue;
        }
        if (attention.is_latent()) {
            // One row a token; its first `rank` elements are the values too.
            description.layers.push_back(
                {{{1, attention.latent.rank + attention.latent.rope_width, dtypes.keys}}, group});
            continue;
        }
        description.layers.push_back({{{attention.kv_heads, attention.key_width, dtypes.keys},
                                       {attention.kv_heads, attention.value_width, dtypes.values}},
                                      group});
    }
    const std::size_t source_group = description.groups.size();
    for (const LayerSpec& layer : spec.layers) {
        if (!layer.cross) continue;
        if (description.groups.size() == source_group) description.groups.push_back({0, 0, true});
        description.layers.push_back({{{layer.cross->heads, layer.cross->key_width, dtypes.keys},
                                       {layer.cross->heads, layer.cross->value_width, dtypes.values}},
                                      source_group});
    }
    return description;
}

std::size_t cross_place(const ModelSpec& spec, std::size_t layer) noexcept {
    std::size_t place = spec.layers.size();
    for (std::size_t l = 0; l < layer; ++l) place += spec.layers[l].cross ? 1 : 0;
    return place;
}

Status check_cache_dtypes(const ModelSpec& spec, CacheDTypes dtypes) {
    if (!is_cache_choice(dtypes)) {
        return error(StatusCode::invalid_argument, "cache_dtype is ", cache_dtypes_name(dtypes), ", expected ",
                     cache_choice_list(true));
    }
    const bool has_latent_rows = std::any_of(spec.layers.begin(), spec.layers.end(),
                                             [](const LayerSpec& layer) { return layer.attention.is_latent(); });
    if (dtypes.keys != dtypes.values && has_latent_rows) {
        return error(StatusCode::invalid_argument, "cache_dtype is ", cache_dtypes_name(dtypes), ", but ",
                     spec.architecture, " keeps rows that are keys and values at once, expected ",
                     cache_choice_list(false));
    }
    return {};
}

AttentionCache cached_rows(const KVView& view, std::size_t value_plane) {
    const KVPlaneView &keys = view.planes[0], &values = view.planes[value_plane];
    const auto rows = [&view](const KVPlaneView& plane) {
        return PagedRows{view.base + plane.offset_bytes, static_cast<std::int64_t>(view.block_stride_bytes),
                         static_cast<std::int64_t>(plane.row_stride_bytes)};
    };
    return {.keys = rows(keys),
            .values = rows(values),
            .key_head_stride_bytes = static_cast<std::int64_t>(keys.head_stride_bytes),
            .value_head_stride_bytes = static_cast<std::int64_t>(values.head_stride_bytes),
            .key_dtype = keys.dtype,
            .value_dtype = values.dtype};
}

}  // namespace mixtura
