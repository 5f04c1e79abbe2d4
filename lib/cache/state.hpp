// What a KVCache holds: its layout, its pool, its sequences.  kv_cache.cpp changes it, snapshot.cpp reads and adds,
// recurrent.cpp keeps the states of recurrent layers, source.cpp the rows of a source.
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

// The states of recurrent layers at one moment.  No block: zeros, in front of the first token.
struct StateMark {
    std::int64_t length = 0;  // -1: no moment
    BlockId block = -1;
};

struct Sequence {
    std::uint32_t generation = 0;  // how often the slot was given; odd while a sequence lives in it
    std::int64_t length = 0;
    std::int64_t source_length = 0;  // rows in the groups of a source
    std::vector<BlockTable> tables;  // per group
    // Each holds a reference to its block.
    StateMark now, before_append{-1, -1};
    std::vector<StateMark> snapshots;  // ascending
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
    Status append_source(Sequence& sequence, std::int64_t count);
    // How many rows the sequence has in the group.
    std::int64_t rows_in(const Sequence& sequence, std::size_t group) const noexcept {
        return layout.groups[group].rule.is_source ? sequence.source_length : sequence.length;
    }
    // Whether append() and truncate() change the group's blocks.
    bool grows(std::size_t group) const noexcept {
        return layout.groups[group].block_bytes > 0 && !layout.groups[group].rule.is_source;
    }
    bool has_source() const noexcept;
    void make_last_block_own(Sequence& sequence, std::size_t group, BlockId block) noexcept;
    void clear_stale_tokens(Sequence& sequence, std::size_t group) noexcept;

    // States of recurrent layers; all of it does nothing where no layer has one.
    std::size_t state_group() const noexcept { return layout.groups.size(); }  // in the pool
    bool has_states() const noexcept { return layout.state_block_bytes > 0; }
    std::byte* state_data(const StateMark& mark, std::size_t layer) const noexcept {
        return pool.data(state_group(), mark.block) + layout.state_offsets[layer];
    }
    Status check_state(std::size_t layer) const;
    // Whether the next append takes a fresh block; else the one before the last append serves again.
    bool needs_state_block(const Sequence& sequence) const noexcept;
    // To `length`, with `block` where one was needed.
    void advance_states(Sequence& sequence, std::int64_t length, BlockId block) noexcept;
    Status check_windows(const Sequence& sequence, std::int64_t length) const;
    // The moment with the highest length up to `length`.
    StateMark state_mark(const Sequence& sequence, std::int64_t length) const noexcept;
    void restore_states(Sequence& sequence, std::int64_t length) noexcept;  // state_mark() has it
    void share_states(const Sequence& parent, Sequence& child, std::vector<StateMark> snapshots) noexcept;
    void release_states(Sequence& sequence) noexcept;
    void hold(const StateMark& mark) noexcept;
    void let_go(const StateMark& mark) noexcept;
};

}  // namespace mixtura
