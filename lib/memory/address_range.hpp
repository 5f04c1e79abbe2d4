// Addresses reserved at once and filled with memory as it is needed, so that what grows never moves: the KV cache's
// blocks are base + index · stride for as long as the cache lives.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <utility>

namespace mixtura {

// Bytes of a page of memory here: 4 KiB on x86, 4 to 64 KiB on Arm.
std::size_t page_bytes() noexcept;

class AddressRange {
  public:
    // Reserves `bytes` (rounded up to pages) of addresses without memory behind them.  OUT_OF_HOST_MEMORY where this
    // process may not have so many addresses.
    static Result<AddressRange> reserve(std::size_t bytes);

    // Makes [offset, offset + bytes), whole pages within the range, readable and writable; what was never written there
    // reads as zero.  False where the system has no memory for it.
    bool make_usable(std::size_t offset, std::size_t bytes) noexcept;
    // Gives the memory of usable pages back; they stay usable and read as zero again.
    void give_back(std::size_t offset, std::size_t bytes) noexcept;

    std::byte* base() const noexcept { return base_; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }

    AddressRange() noexcept = default;
    AddressRange(AddressRange&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
    AddressRange& operator=(AddressRange&& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(size_bytes_, other.size_bytes_);
        return *this;
    }
    ~AddressRange();

  private:
    std::byte* base_ = nullptr;
    std::size_t size_bytes_ = 0;
};

}  // namespace mixtura
