// Blocks of memory for several layer groups under one budget, counted references, freed blocks kept for reuse.
// KVCache takes and releases through it; it knows no sequence.  A group's blocks lie at base + id · stride, as
// attention kernels want them, and never move.  Per-object.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/address_range.hpp"

namespace mixtura {

using BlockId = std::int32_t;  // within its group

class BlockPool {
  public:
    // block_bytes[g]: size of a block of group g, whole pages, or 0 for a group without blocks.  Addresses are reserved
    // for as many blocks as the budget and twice the machine's memory allow: OUT_OF_HOST_MEMORY.
    static Result<BlockPool> create(std::vector<std::size_t> block_bytes, std::uint64_t bytes_max,
                                    std::uint64_t machine_bytes);

    // Whether acquire(counts) keeps the budget; BUDGET_EXCEEDED where it would not.
    Status check(std::span<const std::size_t> counts) const;
    // Appends counts[g] zeroed blocks with one reference each, group after group, to `out`.  BUDGET_EXCEEDED or
    // OUT_OF_HOST_MEMORY, and then neither a block in use nor a reference nor `out` has changed.
    Status acquire(std::span<const std::size_t> counts, std::vector<BlockId>& out);
    void retain(std::size_t group, BlockId block) noexcept;
    void release(std::size_t group, BlockId block) noexcept;
    // Gives blocks without references back to the system.
    void trim() noexcept;

    std::byte* base(std::size_t group) const noexcept { return groups_[group].range.base(); }
    std::byte* data(std::size_t group, BlockId block) const noexcept {
        return base(group) + static_cast<std::size_t>(block) * groups_[group].block_bytes;
    }
    std::uint32_t references(std::size_t group, BlockId block) const noexcept {
        return record(group, block).references;
    }
    // How many of the block's first tokens were reserved since it was acquired; what lies behind them is zero.
    std::uint32_t reserved_tokens(std::size_t group, BlockId block) const noexcept {
        return record(group, block).reserved_tokens;
    }
    void set_reserved_tokens(std::size_t group, BlockId block, std::uint32_t tokens) noexcept {
        record(group, block).reserved_tokens = tokens;
    }

    std::uint64_t bytes_max() const noexcept { return bytes_max_; }
    std::uint64_t bytes_held() const noexcept { return bytes_held_; }
    std::uint64_t bytes_used() const noexcept { return bytes_used_; }
    std::uint64_t blocks_used() const noexcept { return blocks_used_; }
    std::uint64_t blocks_shared() const noexcept { return blocks_shared_; }
    std::uint64_t blocks_free() const noexcept;

  private:
    struct Record {
        std::uint32_t references = 0;
        std::uint32_t reserved_tokens = 0;
    };
    struct Group {
        std::size_t block_bytes = 0;
        AddressRange range;
        std::vector<Record> records;  // of every block that was ever usable
        std::vector<BlockId> free;    // kept for reuse, content unknown; capacity for every record
        std::vector<BlockId> bare;    // usable, without memory, zero; capacity for every record
    };
    BlockPool(std::vector<Group> groups, std::uint64_t bytes_max) noexcept
        : groups_(std::move(groups)), bytes_max_(bytes_max) {}
    Record& record(std::size_t group, BlockId block) noexcept {
        return groups_[group].records[static_cast<std::size_t>(block)];
    }
    const Record& record(std::size_t group, BlockId block) const noexcept {
        return groups_[group].records[static_cast<std::size_t>(block)];
    }
    std::uint64_t shortage_bytes(std::span<const std::size_t> counts) const noexcept;
    void give_back(Group& group) noexcept;
    bool add_bare_block(Group& group) noexcept;

    std::vector<Group> groups_;
    std::uint64_t bytes_max_;
    std::uint64_t bytes_held_ = 0;
    std::uint64_t bytes_used_ = 0;
    std::uint64_t blocks_used_ = 0;
    std::uint64_t blocks_shared_ = 0;
};

}  // namespace mixtura
