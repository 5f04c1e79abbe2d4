#include "model/cache_of_model.hpp"

#include <algorithm>

namespace mixtura {

KVDescription cache_description(const ModelSpec& spec, DType dtype, std::int64_t tokens_max) {
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
        if (layer.recurrent) {
            description.layers.push_back({{}, group, layer.recurrent->state_size()});
            continue;
        }
        if (attention.is_latent()) {
            // One row a token; its first `rank` elements are the values too.
            description.layers.push_back({{{1, attention.latent.rank + attention.latent.rope_width, dtype}}, group});
            continue;
        }
        description.layers.push_back(
            {{{attention.kv_heads, attention.key_width, dtype}, {attention.kv_heads, attention.value_width, dtype}},
             group});
    }
    return description;
}

}  // namespace mixtura
