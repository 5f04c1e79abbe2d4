// KVCache: sequences over a block pool.  Everything that can fail comes before the first change, so a refused call
// leaves everything as it was.
#include <mixtura/kv_cache.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/machine.hpp"
#include "cache/reserve_more.hpp"
#include "cache/state.hpp"
#include "kernels/backend.hpp"

namespace mixtura {
namespace {

std::uint64_t memory_of_machine() {
    std::uint64_t bytes = physical_memory_bytes();
    if (bytes == 0) bytes = std::numeric_limits<std::uint64_t>::max();
    return std::min(bytes, cgroup_memory_limit_bytes().value_or(bytes));
}

std::vector<std::size_t> block_sizes(const KVLayout& layout) {
    std::vector<std::size_t> sizes;
    for (const KVLayout::Group& group : layout.groups) sizes.push_back(group.block_bytes);
    sizes.push_back(layout.state_block_bytes);
    return sizes;
}

// visit(byte offset of the head's rows in a block, bytes of a row) for every head of every plane of the group.
template <class Visit>
void for_each_head(const KVLayout& layout, std::size_t group, const Visit& visit) {
    for (const std::size_t layer : layout.groups[group].layers) {
        for (const KVPlaneView& plane : layout.planes[layer]) {
            for (std::int64_t head = 0; head < plane.heads; ++head) {
                visit(plane.offset_bytes + static_cast<std::size_t>(head) * plane.head_stride_bytes,
                      plane.row_stride_bytes);
            }
        }
    }
}

SequenceId sequence_id(std::size_t slot, std::uint32_t generation) noexcept {
    return static_cast<SequenceId>(std::uint64_t{generation} << 32 | slot);
}

}  // namespace

Result<std::size_t> KVCache::State::slot_of(SequenceId id) const {
    const auto slot = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id));
    const auto generation = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32);
    if (slot < slots.size() && slots[slot].generation == generation && generation % 2 == 1) return std::size_t{slot};
    return error(StatusCode::not_found, "sequence ", static_cast<std::uint64_t>(id), " is not in this KV cache");
}

Status KVCache::State::check_group(std::size_t group) const {
    if (group < layout.groups.size()) return {};
    return error(StatusCode::invalid_argument, "layer group ", group, " is named, expected one below ",
                 layout.groups.size());
}

Status KVCache::State::check_plane(std::size_t layer, std::size_t plane) const {
    if (layer >= layout.planes.size()) {
        return error(StatusCode::invalid_argument, "layer ", layer, " is named, expected one below ",
                     layout.planes.size());
    }
    if (plane < layout.planes[layer].size()) return {};
    return error(StatusCode::invalid_argument, "plane ", plane, " of layer ", layer, " is named, but it has ",
                 layout.planes[layer].size());
}

SequenceId KVCache::State::add(std::span<const std::int64_t> first_blocks) {
    std::vector<BlockTable> tables(layout.groups.size());
    for (std::size_t group = 0; group < tables.size(); ++group) {
        tables[group].first_block = first_blocks[group];
        tables[group].ids.assign(static_cast<std::size_t>(first_blocks[group]), BlockId{-1});
    }
    if (free_slots.empty()) {
        reserve_more(slots, 1);
        free_slots.reserve(slots.capacity());
        free_slots.push_back(static_cast<std::uint32_t>(slots.size()));
        slots.emplace_back();
    }
    const std::uint32_t slot = free_slots.back();
    free_slots.pop_back();
    Sequence& sequence = slots[slot];
    ++sequence.generation;
    sequence.length = sequence.source_length = 0;
    sequence.tables = std::move(tables);
    return sequence_id(slot, sequence.generation);
}

void KVCache::State::remove(Sequence& sequence) noexcept {
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        for (const BlockId block : sequence.tables[group].kept()) pool.release(group, block);
    }
    sequence.tables.clear();
    release_states(sequence);
    ++sequence.generation;
    // A slot whose generations are used up (2^31 sequences) is left alone, so that no id comes twice.
    if (sequence.generation != 0) free_slots.push_back(static_cast<std::uint32_t>(&sequence - slots.data()));
}

// Replaces the last block, which others share too, by `block` with a copy of this sequence's tokens in it.  No row
// behind them is copied: it may be another's.
void KVCache::State::make_last_block_own(Sequence& sequence, std::size_t group, BlockId block) noexcept {
    BlockTable& table = sequence.tables[group];
    const auto tokens = static_cast<std::size_t>(sequence.length % kKVBlockTokens);
    for_each_head(layout, group, [&](std::size_t at, std::size_t row_bytes) {
        std::memcpy(pool.data(group, block) + at, pool.data(group, table.ids.back()) + at, tokens * row_bytes);
    });
    pool.release(group, table.ids.back());
    table.ids.back() = block;
}

// Zeroes what truncation left behind this sequence's tokens in its last block, be it its own or that of a fork which
// is gone since.
void KVCache::State::clear_stale_tokens(Sequence& sequence, std::size_t group) noexcept {
    const BlockId block = sequence.tables[group].ids.back();
    const auto first = static_cast<std::size_t>(sequence.length % kKVBlockTokens);
    const std::size_t end = pool.reserved_tokens(group, block);
    if (end <= first) return;
    for_each_head(layout, group, [&](std::size_t at, std::size_t row_bytes) {
        std::memset(pool.data(group, block) + at + first * row_bytes, 0, (end - first) * row_bytes);
    });
}

Status KVCache::State::append(Sequence& sequence, std::int64_t count) {
    if (count < 0 || count > description.tokens_max - sequence.length) {
        return error(StatusCode::out_of_range, count, " tokens are to follow ", sequence.length, ", expected 0 to ",
                     description.tokens_max - sequence.length, " for a sequence of at most ", description.tokens_max);
    }
    if (count == 0) return {};
    const std::int64_t length = sequence.length + count;
    const bool is_within_block = sequence.length % kKVBlockTokens != 0;
    std::vector<std::size_t> grow(sequence.tables.size(), 0), wanted(sequence.tables.size() + 1, 0);
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        if (!grows(group)) continue;
        const BlockTable& table = sequence.tables[group];
        grow[group] = static_cast<std::size_t>(blocks_for_tokens(length) - table.end_block());
        wanted[group] = grow[group];
        if (is_within_block && pool.references(group, table.ids.back()) > 1) ++wanted[group];  // copy on write
    }
    if (needs_state_block(sequence)) wanted[state_group()] = 1;
    MIXTURA_RETURN_IF_ERROR(pool.check(wanted));  // before room is made in proportion to what is wanted
    std::vector<BlockId> taken;
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        reserve_more(sequence.tables[group].ids, grow[group]);
    }
    MIXTURA_RETURN_IF_ERROR(pool.acquire(wanted, taken));

    auto next = taken.begin();
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        if (!grows(group)) continue;
        BlockTable& table = sequence.tables[group];
        if (wanted[group] > grow[group]) {
            make_last_block_own(sequence, group, *next++);
        } else if (is_within_block) {
            clear_stale_tokens(sequence, group);
        }
        for (std::size_t i = 0; i < grow[group]; ++i) table.ids.push_back(*next++);
        // An imported sequence begins at its first kept block, behind its length of 0.
        const std::int64_t first = std::max(table.first_block, sequence.length / kKVBlockTokens);
        for (std::int64_t block = first; block < table.end_block(); ++block) {
            const std::int64_t tokens = std::min(kKVBlockTokens, length - block * kKVBlockTokens);
            pool.set_reserved_tokens(group, table.ids[static_cast<std::size_t>(block)],
                                     static_cast<std::uint32_t>(tokens));
        }
    }
    advance_states(sequence, length, wanted[state_group()] > 0 ? *next : BlockId{-1});
    sequence.length = length;
    return {};
}

Status KVCache::State::check_windows(const Sequence& sequence, std::int64_t length) const {
    if (length < 0 || length > sequence.length) {
        return error(StatusCode::out_of_range, "a sequence of ", sequence.length, " tokens is to be cut to ", length);
    }
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        const std::int64_t kept = sequence.tables[group].first_block * kKVBlockTokens;
        const std::int64_t visible = first_visible_position(layout.groups[group].rule, length);
        if (kept <= visible) continue;
        return error(StatusCode::out_of_range, "a sequence cut to ", length, " tokens would see position ", visible,
                     " in layer group ", group, ", but what lies below ", kept, " was released");
    }
    return {};
}

Result<KVCache> KVCache::create(KVDescription description) noexcept {
    return without_exceptions([&]() -> Result<KVCache> {
        MIXTURA_ASSIGN_OR_RETURN(KVLayout layout, KVLayout::create(description));
        MIXTURA_ASSIGN_OR_RETURN(const Backend* const backend, choose_backend());
        const std::uint64_t machine_bytes = memory_of_machine();
        MIXTURA_ASSIGN_OR_RETURN(
            BlockPool pool,
            BlockPool::create(block_sizes(layout), description.bytes_max.value_or(machine_bytes), machine_bytes));
        return KVCache(
            std::make_unique<State>(*backend->table, std::move(description), std::move(layout), std::move(pool)));
    });
}

Result<std::uint64_t> KVCache::bytes_needed(const KVDescription& description, std::int64_t tokens,
                                            std::int64_t step_tokens) noexcept {
    return without_exceptions([&]() -> Result<std::uint64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const KVLayout layout, KVLayout::create(description));
        if (tokens < 0 || tokens > description.tokens_max || step_tokens < 1) {
            return error(StatusCode::invalid_argument, tokens, " tokens in steps of ", step_tokens,
                         " are asked for, expected 0 to ", description.tokens_max, " in steps of at least 1");
        }
        std::uint64_t bytes = 0;
        for (const KVLayout::Group& group : layout.groups) {
            std::int64_t blocks = blocks_for_tokens(tokens);
            // A step that starts at n keeps [n - reach, n + step): at most (reach + step + 62) div 32 blocks, however
            // it lies to their borders.
            const std::int64_t reach = std::max(group.rule.window_tokens, group.rule.chunk_tokens) - 1;
            if (reach >= 0 && reach < tokens && step_tokens < tokens) {
                blocks = std::min(blocks, (reach + step_tokens + 2 * (kKVBlockTokens - 1)) / kKVBlockTokens);
            }
            const auto more = checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(blocks), group.block_bytes);
            const auto sum = more ? checked_add(bytes, *more) : std::nullopt;
            if (!sum) return error(StatusCode::out_of_range, tokens, " tokens need more bytes than 64 bits can say");
            bytes = *sum;
        }
        if (tokens == 0 || layout.state_block_bytes == 0) return bytes;
        // The states now, those before the last append, and the snapshots.
        const auto states = checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(description.snapshots_max) + 2,
                                                            layout.state_block_bytes);
        const auto sum = states ? checked_add(bytes, *states) : std::nullopt;
        if (!sum) {
            return error(StatusCode::out_of_range, description.snapshots_max,
                         " snapshots need more bytes than 64 bits can say");
        }
        return *sum;
    });
}

const KVDescription& KVCache::description() const noexcept { return state_->description; }

KVMemory KVCache::memory() const noexcept {
    const BlockPool& pool = state_->pool;
    KVMemory memory{pool.bytes_max(),   pool.bytes_held(),    pool.bytes_used(),
                    pool.blocks_used(), pool.blocks_shared(), pool.blocks_free()};
    for (const Sequence& sequence : state_->slots) {
        if (sequence.generation % 2 == 0) continue;
        ++memory.sequences;
        memory.tokens += static_cast<std::uint64_t>(sequence.length);
    }
    return memory;
}

Result<SequenceId> KVCache::create_sequence() noexcept {
    return without_exceptions([&]() -> Result<SequenceId> {
        return state_->add(std::vector<std::int64_t>(state_->layout.groups.size(), 0));
    });
}

Result<SequenceId> KVCache::fork(SequenceId sequence) noexcept {
    return without_exceptions([&]() -> Result<SequenceId> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t parent, state_->slot_of(sequence));
        std::vector<BlockTable> tables = state_->slots[parent].tables;
        std::vector<StateMark> snapshots = state_->slots[parent].snapshots;
        const SequenceId id = state_->add(std::vector<std::int64_t>(tables.size(), 0));
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t child, state_->slot_of(id));
        for (std::size_t group = 0; group < tables.size(); ++group) {
            for (const BlockId block : tables[group].kept()) state_->pool.retain(group, block);
        }
        state_->slots[child].tables = std::move(tables);
        state_->slots[child].length = state_->slots[parent].length;
        state_->slots[child].source_length = state_->slots[parent].source_length;
        state_->share_states(state_->slots[parent], state_->slots[child], std::move(snapshots));
        return id;
    });
}

Status KVCache::free_sequence(SequenceId sequence) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        Sequence& found = state_->slots[slot];
        state_->remove(found);
        return {};
    });
}

Result<std::int64_t> KVCache::length(SequenceId sequence) const noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        const Sequence& found = state_->slots[slot];
        return found.length;
    });
}

Result<std::int64_t> KVCache::append(SequenceId sequence, std::int64_t count) noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        Sequence& found = state_->slots[slot];
        const std::int64_t first = found.length;
        MIXTURA_RETURN_IF_ERROR(state_->append(found, count));
        return first;
    });
}

Status KVCache::truncate(SequenceId sequence, std::int64_t length) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        Sequence& found = state_->slots[slot];
        MIXTURA_RETURN_IF_ERROR(state_->check_windows(found, length));
        if (const StateMark mark = state_->state_mark(found, length); mark.length != length) {
            return error(StatusCode::out_of_range, "a sequence of ", found.length, " tokens cannot be cut to ", length,
                         ", where the states of its recurrent layers are not kept; the highest length below where they "
                         "are is ",
                         mark.length);
        }
        for (std::size_t group = 0; group < found.tables.size(); ++group) {
            if (!state_->grows(group)) continue;
            std::vector<BlockId>& ids = found.tables[group].ids;
            while (static_cast<std::int64_t>(ids.size()) > blocks_for_tokens(length)) {
                state_->pool.release(group, ids.back());  // kept: first_block * 32 <= visible <= length
                ids.pop_back();
            }
        }
        state_->restore_states(found, length);
        found.length = length;
        return {};
    });
}

Status KVCache::release_before(SequenceId sequence, std::size_t group, std::int64_t position) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        Sequence& found = state_->slots[slot];
        MIXTURA_RETURN_IF_ERROR(state_->check_group(group));
        const std::int64_t visible = first_visible_position(state_->layout.groups[group].rule, found.length);
        if (position < 0 || position > visible) {
            return error(StatusCode::out_of_range, "what lies below position ", position, " of layer group ", group,
                         " is to be released, expected 0 to ", visible, ", which the next token sees");
        }
        BlockTable& table = found.tables[group];
        if (state_->layout.groups[group].block_bytes == 0) return {};
        for (; table.first_block < position / kKVBlockTokens; ++table.first_block) {
            BlockId& block = table.ids[static_cast<std::size_t>(table.first_block)];
            state_->pool.release(group, block);
            block = -1;
        }
        return {};
    });
}

Result<std::int64_t> KVCache::first_visible(SequenceId sequence, std::size_t group) const noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        const Sequence& found = state_->slots[slot];
        MIXTURA_RETURN_IF_ERROR(state_->check_group(group));
        return first_visible_position(state_->layout.groups[group].rule, found.length);
    });
}

Result<std::int64_t> KVCache::kept_from(SequenceId sequence, std::size_t group) const noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        const Sequence& found = state_->slots[slot];
        MIXTURA_RETURN_IF_ERROR(state_->check_group(group));
        return found.tables[group].first_block * kKVBlockTokens;
    });
}

void KVCache::trim() noexcept { state_->pool.trim(); }

KVCache::KVCache(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
KVCache::KVCache(KVCache&&) noexcept = default;
KVCache& KVCache::operator=(KVCache&&) noexcept = default;
KVCache::~KVCache() = default;

}  // namespace mixtura
