// What a KVCache holds: its layout, its pool, its sequences.  kv_cache.cpp changes it, snapshot.cpp reads and adds.
#pragma once

#include <mixtura/kv_cache.hpp>

#include "cache/block_pool.hpp"
#include "cache/layout.hpp"
#include "kernels/kernel_table.hpp"

namespace mixtura {

// The blocks of one group in one sequence, by position div 32.
struct BlockTable {
    std::int64_t first_block = 0;  // ids below it are -1: released
    std::vector<BlockId> ids;

    std::span<const BlockId> kept() const noexcept {
        return std::span(ids).subspan(static_cast<std::size_t>(first_block));
    }
    std::int64_t end_block() const noexcept { return static_cast<std::int64_t>(ids.size()); }
};

struct Sequence {
    std::uint32_t generation = 0;  // how often the slot was given; odd while a sequence lives in it
    std::int64_t length = 0;
    std::vector<BlockTable> tables;  // per group
};

struct KVCache::State {
    State(const KernelTable& table, KVDescription given, KVLayout planned, BlockPool blocks) noexcept
        : kernels(&table), description(std::move(given)), layout(std::move(planned)), pool(std::move(blocks)) {}

    const KernelTable* kernels;  // every back-end rounds to the same bits
    KVDescription description;
    KVLayout layout;
    BlockPool pool;
    std::vector<Sequence> slots;
    std::vector<std::uint32_t> free_slots;  // capacity for every slot, so that freeing cannot fail

    Result<std::size_t> slot_of(SequenceId id) const;  // NOT_FOUND
    Status check_group(std::size_t group) const;
    Status check_plane(std::size_t layer, std::size_t plane) const;

    // A new sequence without a token whose tables start at `first_blocks`.
    SequenceId add(std::span<const std::int64_t> first_blocks);
    void remove(Sequence& sequence) noexcept;
    Status append(Sequence& sequence, std::int64_t count);
    void make_last_block_own(Sequence& sequence, std::size_t group, BlockId block) noexcept;
    void clear_stale_tokens(Sequence& sequence, std::size_t group) noexcept;
};

}  // namespace mixtura
