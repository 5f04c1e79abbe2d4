// The rows of a source in a KVCache: blocks that are taken once a sequence and stay until it is freed.
#include <mixtura/kv_cache.hpp>

#include <algorithm>

#include "base/error.hpp"
#include "cache/reserve_more.hpp"
#include "cache/state.hpp"

namespace mixtura {

bool KVCache::State::has_source() const noexcept {
    return std::any_of(layout.groups.begin(), layout.groups.end(),
                       [](const KVLayout::Group& group) { return group.rule.is_source; });
}

Status KVCache::State::append_source(Sequence& sequence, std::int64_t count) {
    if (!has_source()) return error(StatusCode::invalid_argument, "the cache has no layer group of a source");
    if (sequence.source_length > 0) {
        return error(StatusCode::bad_state, count, " rows of a source are to be reserved, but the sequence has ",
                     sequence.source_length);
    }
    if (count < 1 || count > description.tokens_max) {
        return error(StatusCode::out_of_range, "a source of ", count, " rows, expected 1 to ", description.tokens_max);
    }
    const auto blocks = static_cast<std::size_t>(blocks_for_tokens(count));
    std::vector<std::size_t> wanted(sequence.tables.size() + 1, 0);
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        const KVLayout::Group& rows = layout.groups[group];
        if (rows.rule.is_source && rows.block_bytes > 0) wanted[group] = blocks;
    }
    MIXTURA_RETURN_IF_ERROR(pool.check(wanted));  // before room is made in proportion to what is wanted
    for (std::size_t group = 0; group < sequence.tables.size(); ++group)
        reserve_more(sequence.tables[group].ids, wanted[group]);
    std::vector<BlockId> taken;
    MIXTURA_RETURN_IF_ERROR(pool.acquire(wanted, taken));
    auto next = taken.begin();
    for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
        for (std::size_t block = 0; block < wanted[group]; ++block) {
            const std::int64_t left = count - static_cast<std::int64_t>(block) * kKVBlockTokens;
            pool.set_reserved_tokens(group, *next, static_cast<std::uint32_t>(std::min(kKVBlockTokens, left)));
            sequence.tables[group].ids.push_back(*next++);
        }
    }
    sequence.source_length = count;
    return {};
}

Status KVCache::append_source(SequenceId sequence, std::int64_t count) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        return state_->append_source(state_->slots[slot], count);
    });
}

Result<std::int64_t> KVCache::source_length(SequenceId sequence) const noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        return std::int64_t{state_->slots[slot].source_length};
    });
}

}  // namespace mixtura
