// Where everything lies in a block: computed once from a KVDescription, then only read.
#pragma once

#include <mixtura/kv_cache.hpp>

namespace mixtura {

struct KVLayout {
    struct Group {
        KVGroup rule;
        std::size_t block_bytes = 0;      // 0 where the group's layers keep nothing
        std::size_t token_bytes = 0;      // of one token in all its layers, without alignment
        std::vector<std::size_t> layers;  // ascending
    };
    std::vector<Group> groups;
    std::vector<std::vector<KVPlaneView>> planes;  // per layer
    std::size_t state_block_bytes = 0;             // of all layers' states; 0 where no layer has one
    std::vector<std::size_t> state_offsets;        // per layer, of its state in the block

    // INVALID_ARGUMENT as KVCache::create says.
    static Result<KVLayout> create(const KVDescription& description);
};

// The lowest position that a query at `position` sees.
std::int64_t first_visible_position(const KVGroup& rule, std::int64_t position) noexcept;

constexpr std::int64_t blocks_for_tokens(std::int64_t tokens) noexcept {
    return tokens / kKVBlockTokens + (tokens % kKVBlockTokens != 0 ? 1 : 0);
}

}  // namespace mixtura
