#include "memory/aligned_buffer.hpp"

#include <sys/mman.h>

#include <limits>
#include <new>

#include "base/error.hpp"

namespace mixtura {
namespace {

std::align_val_t alignment_of(std::size_t size_bytes) noexcept {
    return std::align_val_t{size_bytes >= kHugeFromBytes ? kHugePageBytes : AlignedBuffer::kAlignmentBytes};
}

}  // namespace

void advise_huge_pages([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
    ::madvise(begin, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
}

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
    if (buffer.size_bytes_ >= kHugeFromBytes) advise_huge_pages(buffer.data_, buffer.size_bytes_);
    return buffer;
}

AlignedBuffer::~AlignedBuffer() {
    if (data_ != nullptr) ::operator delete(data_, alignment_of(size_bytes_));
}

}  // namespace mixtura
