#include "cache/block_pool.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

// Room for `count` more without reallocating, growing by doubling.
template <class T>
void reserve_more(std::vector<T>& list, std::size_t count) {
    if (list.capacity() - list.size() < count) list.reserve(std::max(list.size() + count, 2 * list.capacity()));
}

}  // namespace

void BlockPool::FreeAligned::operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }

BlockPool::BlockPool(std::vector<std::size_t> block_bytes, std::uint64_t bytes_max)
    : block_bytes_(std::move(block_bytes)), bytes_max_(std::min(bytes_max, kEndless - 1)), free_(block_bytes_.size()) {}

// What must be allocated beside the free blocks of each group; kEndless, over any budget, where that leaves
// 64 bits.
std::uint64_t BlockPool::shortage_bytes(std::span<const std::size_t> counts) const noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t group = 0; group < counts.size(); ++group) {
        const std::size_t missing = counts[group] - std::min(counts[group], free_[group].size());
        const auto more = checked_multiply<std::uint64_t>(missing, block_bytes_[group]);
        const auto sum = more ? checked_add(bytes, *more) : std::nullopt;
        if (!sum) return kEndless;
        bytes = *sum;
    }
    return bytes;
}

Status BlockPool::check(std::span<const std::size_t> counts) const {
    const std::uint64_t shortage = shortage_bytes(counts);
    std::uint64_t reclaimable = 0;  // free blocks that these counts leave over
    for (std::size_t group = 0; group < counts.size(); ++group) {
        const std::size_t left_over = free_[group].size() - std::min(counts[group], free_[group].size());
        reclaimable += left_over * block_bytes_[group];
    }
    const std::uint64_t needed = bytes_held_ - reclaimable;
    if (shortage <= bytes_max_ - needed) return {};
    return error(StatusCode::budget_exceeded, "the KV cache needs ", shortage, " bytes more, but ", needed,
                 " of its budget of ", bytes_max_, " are taken");
}

Status BlockPool::acquire(std::span<const std::size_t> counts, std::vector<BlockId>& out) {
    MIXTURA_RETURN_IF_ERROR(check(counts));
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    reserve_more(out, total);

    // Free blocks that another group kept make room.
    const std::uint64_t shortage = shortage_bytes(counts);
    for (std::size_t group = 0; group < counts.size(); ++group) {
        while (bytes_held_ > bytes_max_ - shortage && free_[group].size() > counts[group]) give_back(group);
    }
    std::vector<std::size_t> had;
    for (const std::vector<BlockId>& list : free_) had.push_back(list.size());
    for (std::size_t group = 0; group < counts.size(); ++group) {
        while (free_[group].size() < counts[group]) {
            if (allocate(group)) continue;
            const std::size_t missing = counts[group] - free_[group].size();
            for (std::size_t other = 0; other <= group; ++other) {
                while (free_[other].size() > had[other]) give_back(other);
            }
            return error(StatusCode::out_of_host_memory, "no memory for ", missing, " blocks of ", block_bytes_[group],
                         " bytes for the KV cache, beside ", bytes_held_, " bytes it holds");
        }
    }
    for (std::size_t group = 0; group < counts.size(); ++group) {
        for (std::size_t i = 0; i < counts[group]; ++i) {
            const BlockId block = free_[group].back();
            free_[group].pop_back();
            // Zeroed also on reuse: one sequence's rows are never another's to read.
            std::memset(records_[block].data.get(), 0, block_bytes_[group]);
            records_[block].references = 1;
            records_[block].reserved_tokens = 0;
            out.push_back(block);
        }
        blocks_used_ += counts[group];
        bytes_used_ += counts[group] * block_bytes_[group];
    }
    return {};
}

// One more free block; false where there is no memory.
bool BlockPool::allocate(std::size_t group) noexcept {
    std::unique_ptr<std::byte, FreeAligned> data(
        static_cast<std::byte*>(::operator new(block_bytes_[group], kAlignment, std::nothrow)));
    if (data == nullptr) return false;
    if (vacant_.empty()) {
        if (records_.size() >= std::numeric_limits<BlockId>::max()) return false;
        try {
            reserve_more(records_, 1);
            vacant_.reserve(records_.capacity());
            for (std::vector<BlockId>& list : free_) list.reserve(records_.capacity());
        } catch (const std::bad_alloc&) {
            return false;
        }
        vacant_.push_back(static_cast<BlockId>(records_.size()));
        records_.emplace_back();
    }
    const BlockId block = vacant_.back();
    vacant_.pop_back();
    records_[block] = {std::move(data), 0, static_cast<std::uint32_t>(group), 0};
    free_[group].push_back(block);
    bytes_held_ += block_bytes_[group];
    return true;
}

void BlockPool::give_back(std::size_t group) noexcept {
    const BlockId block = free_[group].back();
    free_[group].pop_back();
    records_[block].data.reset();
    vacant_.push_back(block);
    bytes_held_ -= block_bytes_[group];
}

void BlockPool::retain(BlockId block) noexcept {
    if (++records_[block].references == 2) ++blocks_shared_;
}

void BlockPool::release(BlockId block) noexcept {
    Record& record = records_[block];
    if (--record.references == 1) --blocks_shared_;
    if (record.references > 0) return;
    free_[record.group].push_back(block);
    --blocks_used_;
    bytes_used_ -= block_bytes_[record.group];
}

void BlockPool::trim() noexcept {
    for (std::size_t group = 0; group < free_.size(); ++group) {
        while (!free_[group].empty()) give_back(group);
    }
}

std::uint64_t BlockPool::blocks_free() const noexcept {
    std::uint64_t count = 0;
    for (const std::vector<BlockId>& list : free_) count += list.size();
    return count;
}

}  // namespace mixtura
