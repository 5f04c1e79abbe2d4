#include "memory/aligned_buffer.hpp"

#include <sys/mman.h>

#include <limits>
#include <new>

#include "base/error.hpp"

namespace mixtura {
namespace {

// From here on a buffer lies on huge pages where the system has them: 512 times fewer faults when it is filled, and
// weights that are read once a token do not miss the TLB on every 4 KiB.
constexpr std::size_t kHugePageBytes = 2 << 20, kHugeFromBytes = 2 * kHugePageBytes;

std::align_val_t alignment_of(std::size_t size_bytes) noexcept {
    return std::align_val_t{size_bytes >= kHugeFromBytes ? kHugePageBytes : AlignedBuffer::kAlignmentBytes};
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(std::uint64_t size_bytes) noexcept {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    if (size_bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
        buffer.data_ = static_cast<std::byte*>(
            ::operator new(static_cast<std::size_t>(size_bytes), alignment_of(size_bytes), std::nothrow));
    }
    if (buffer.data_ == nullptr) {
        return without_exceptions([&]() -> Result<AlignedBuffer> {
            return error(StatusCode::out_of_host_memory, "there is no memory for ", size_bytes, " bytes");
        });
    }
    buffer.size_bytes_ = static_cast<std::size_t>(size_bytes);
#if defined(MADV_HUGEPAGE)
    // Advice: where it is refused, small pages serve.
    if (buffer.size_bytes_ >= kHugeFromBytes)
        ::madvise(buffer.data_, buffer.size_bytes_ / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
    return buffer;
}

AlignedBuffer::~AlignedBuffer() {
    if (data_ != nullptr) ::operator delete(data_, alignment_of(size_bytes_));
}

}  // namespace mixtura
