#include "memory/aligned_buffer.hpp"

#include <limits>
#include <new>

#include "base/error.hpp"

namespace mixtura {

Result<AlignedBuffer> AlignedBuffer::allocate(std::uint64_t size_bytes) noexcept {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    if (size_bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
        buffer.data_ = static_cast<std::byte*>(
            ::operator new (static_cast<std::size_t>(size_bytes), std::align_val_t{kAlignmentBytes}, std::nothrow));
    }
    if (buffer.data_ == nullptr) {
        return without_exceptions([&]() -> Result<AlignedBuffer> {
            return error(StatusCode::out_of_host_memory, "there is no memory for ", size_bytes, " bytes");
        });
    }
    buffer.size_bytes_ = static_cast<std::size_t>(size_bytes);
    return buffer;
}

AlignedBuffer::~AlignedBuffer() {
    if (data_ != nullptr) ::operator delete (data_, std::align_val_t{kAlignmentBytes});
}

}  // namespace mixtura
