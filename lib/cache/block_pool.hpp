// Blocks of memory for several layer groups under one budget, counted references, freed blocks kept for reuse.
// KVCache takes and releases through it; it knows no sequence.  Per-object.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mixtura {

using BlockId = std::uint32_t;

class BlockPool {
  public:
    // block_bytes[g]: size of a block of group g, a multiple of 64.
    BlockPool(std::vector<std::size_t> block_bytes, std::uint64_t bytes_max);

    // Whether acquire(counts) keeps the budget; BUDGET_EXCEEDED where it would not.
    Status check(std::span<const std::size_t> counts) const;
    // Appends counts[g] zeroed blocks with one reference each, group after group, to `out`.  BUDGET_EXCEEDED or
    // OUT_OF_HOST_MEMORY, and then neither a block in use nor a reference nor `out` has changed.
    Status acquire(std::span<const std::size_t> counts, std::vector<BlockId>& out);
    void retain(BlockId block) noexcept;
    void release(BlockId block) noexcept;
    // Gives blocks without references back to the system.
    void trim() noexcept;

    std::byte* data(BlockId block) const noexcept { return records_[block].data.get(); }
    std::uint32_t references(BlockId block) const noexcept { return records_[block].references; }

    // How many of the block's first tokens were reserved since it was acquired; what lies behind them is zero.
    std::uint32_t reserved_tokens(BlockId block) const noexcept { return records_[block].reserved_tokens; }
    void set_reserved_tokens(BlockId block, std::uint32_t tokens) noexcept { records_[block].reserved_tokens = tokens; }

    std::uint64_t bytes_max() const noexcept { return bytes_max_; }
    std::uint64_t bytes_held() const noexcept { return bytes_held_; }
    std::uint64_t bytes_used() const noexcept { return bytes_used_; }
    std::uint64_t blocks_used() const noexcept { return blocks_used_; }
    std::uint64_t blocks_shared() const noexcept { return blocks_shared_; }
    std::uint64_t blocks_free() const noexcept;

  private:
    struct FreeAligned {
        void operator()(std::byte* data) const noexcept;
    };
    struct Record {
        std::unique_ptr<std::byte, FreeAligned> data;  // empty: the id is vacant
        std::uint32_t references = 0;
        std::uint32_t group = 0;
        std::uint32_t reserved_tokens = 0;
    };
    std::uint64_t shortage_bytes(std::span<const std::size_t> counts) const noexcept;
    void give_back(std::size_t group) noexcept;
    bool allocate(std::size_t group) noexcept;

    std::vector<std::size_t> block_bytes_;
    std::uint64_t bytes_max_;
    std::vector<Record> records_;
    std::vector<BlockId> vacant_;             // capacity for every record, so that giving back cannot fail
    std::vector<std::vector<BlockId>> free_;  // per group; capacity for every record
    std::uint64_t bytes_held_ = 0;
    std::uint64_t bytes_used_ = 0;
    std::uint64_t blocks_used_ = 0;
    std::uint64_t blocks_shared_ = 0;
};

}  // namespace mixtura
