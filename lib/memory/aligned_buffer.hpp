// Uninitialised bytes on a cache-line boundary, for weights, caches and scratch.  Allocation can fail and says so;
// nothing is ever copied.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace mixtura {

// From here on memory lies on huge pages where the system has them: 512 times fewer faults when it is filled, and
// weights that are read once a token do not miss the TLB on every 4 KiB.
inline constexpr std::size_t kHugePageBytes = 2 << 20, kHugeFromBytes = 2 * kHugePageBytes;

// Asks for huge pages under the whole ones of them in [begin, begin + bytes), `begin` being the start of one.  Advice:
// where it is refused, small pages serve.
void advise_huge_pages(std::byte* begin, std::size_t bytes) noexcept;

class AlignedBuffer {
  public:
    static constexpr std::size_t kAlignmentBytes = 64;  // a cache line, and the widest vector register

    // OUT_OF_HOST_MEMORY, naming the amount.  0 bytes give an empty buffer.
    static Result<AlignedBuffer> allocate(std::uint64_t size_bytes) noexcept;

    AlignedBuffer() noexcept = default;
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_bytes_, other.size_bytes_);
        return *this;
    }
    ~AlignedBuffer();

    std::byte* data() noexcept { return data_; }
    const std::byte* data() const noexcept { return data_; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }
    std::span<std::byte> bytes() noexcept { return {data_, size_bytes_}; }

    // The buffer as an array of T; T must be trivial.
    template <class T>
    T* as() noexcept {
        return reinterpret_cast<T*>(data_);
    }
    template <class T>
    const T* as() const noexcept {
        return reinterpret_cast<const T*>(data_);
    }

  private:
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

}  // namespace mixtura
