#include "cache/block_pool.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "cache/reserve_more.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Result<BlockPool> BlockPool::create(std::vector<std::size_t> block_bytes, std::uint64_t bytes_max,
                                    std::uint64_t machine_bytes) {
    const auto twice = checked_multiply<std::uint64_t>(machine_bytes, 2);
    const std::uint64_t most = std::min(bytes_max, twice.value_or(kEndless));
    std::vector<Group> groups;
    for (const std::size_t bytes : block_bytes) {
        Group group;
        group.block_bytes = bytes;
        if (bytes > 0) {
            const std::uint64_t blocks = std::min<std::uint64_t>(most / bytes, std::numeric_limits<BlockId>::max());
            MIXTURA_ASSIGN_OR_RETURN(group.range, AddressRange::reserve(static_cast<std::size_t>(blocks * bytes)));
        }
        groups.push_back(std::move(group));
    }
    return BlockPool(std::move(groups), std::min(bytes_max, kEndless - 1));
}

// What must be taken from the system beside the free blocks of each group; kEndless, over any budget, where that leaves
// 64 bits.
std::uint64_t BlockPool::shortage_bytes(std::span<const std::size_t> counts) const noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::size_t missing = counts[g] - std::min(counts[g], groups_[g].free.size());
        const auto more = checked_multiply<std::uint64_t>(missing, groups_[g].block_bytes);
        const auto sum = more ? checked_add(bytes, *more) : std::nullopt;
        if (!sum) return kEndless;
        bytes = *sum;
    }
    return bytes;
}

Status BlockPool::check(std::span<const std::size_t> counts) const {
    const std::uint64_t shortage = shortage_bytes(counts);
    std::uint64_t left_over_bytes = 0;  // in free blocks that these counts leave
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::size_t left_over = groups_[g].free.size() - std::min(counts[g], groups_[g].free.size());
        left_over_bytes += left_over * groups_[g].block_bytes;
    }
    const std::uint64_t needed = bytes_held_ - left_over_bytes;
    if (shortage <= bytes_max_ - needed) return {};
    return error(StatusCode::budget_exceeded, "the KV cache needs ", shortage, " bytes more, but ", needed,
                 " of its budget of ", bytes_max_, " are taken");
}

Status BlockPool::acquire(std::span<const std::size_t> counts, std::vector<BlockId>& out) {
    MIXTURA_RETURN_IF_ERROR(check(counts));
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    reserve_more(out, total);

    // Bare blocks first: they cost nothing until they are used, so what is added before a failure may stay.
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        while (group.free.size() + group.bare.size() < counts[g]) {
            if (add_bare_block(group)) continue;
            return error(StatusCode::out_of_host_memory, "no memory for ",
                         counts[g] - group.free.size() - group.bare.size(), " blocks of ", group.block_bytes,
                         " bytes for the KV cache, beside ", bytes_held_, " bytes it holds");
        }
    }
    // Free blocks that another group kept make room in the budget.
    const std::uint64_t shortage = shortage_bytes(counts);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        while (bytes_held_ > bytes_max_ - shortage && groups_[g].free.size() > counts[g]) give_back(groups_[g]);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        for (std::size_t i = 0; i < counts[g]; ++i) {
            std::vector<BlockId>& from = group.free.empty() ? group.bare : group.free;
            const BlockId block = from.back();
            from.pop_back();
            if (&from == &group.bare) {
                bytes_held_ += group.block_bytes;
            } else {
                std::memset(data(g, block), 0, group.block_bytes);  // one sequence's rows are never another's to read
            }
            record(g, block) = {1, 0};
            out.push_back(block);
        }
        blocks_used_ += counts[g];
        bytes_used_ += counts[g] * group.block_bytes;
    }
    return {};
}

// False where the range is used up or there is no memory.
bool BlockPool::add_bare_block(Group& group) noexcept {
    const std::size_t at = group.records.size() * group.block_bytes;
    if (group.block_bytes > group.range.size_bytes() - at) return false;
    try {
        reserve_more(group.records, 1);
        group.free.reserve(group.records.capacity());
        group.bare.reserve(group.records.capacity());
    } catch (const std::bad_alloc&) {
        return false;
    }
    if (!group.range.make_usable(at, group.block_bytes)) return false;
    group.bare.push_back(static_cast<BlockId>(group.records.size()));
    group.records.emplace_back();
    return true;
}

void BlockPool::give_back(Group& group) noexcept {
    const BlockId block = group.free.back();
    group.free.pop_back();
    group.bare.push_back(block);
    group.range.give_back(static_cast<std::size_t>(block) * group.block_bytes, group.block_bytes);
    bytes_held_ -= group.block_bytes;
}

void BlockPool::retain(std::size_t group, BlockId block) noexcept {
    if (++record(group, block).references == 2) ++blocks_shared_;
}

void BlockPool::release(std::size_t group, BlockId block) noexcept {
    Record& found = record(group, block);
    if (--found.references == 1) --blocks_shared_;
    if (found.references > 0) return;
    groups_[group].free.push_back(block);
    --blocks_used_;
    bytes_used_ -= groups_[group].block_bytes;
}

void BlockPool::trim() noexcept {
    for (Group& group : groups_) {
        while (!group.free.empty()) give_back(group);
    }
}

std::uint64_t BlockPool::blocks_free() const noexcept {
    std::uint64_t count = 0;
    for (const Group& group : groups_) count += group.free.size();
    return count;
}

}  // namespace mixtura
