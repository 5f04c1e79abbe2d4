#include "memory/address_range.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace mixtura {

std::size_t page_bytes() noexcept {
    const long bytes = ::sysconf(_SC_PAGESIZE);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 4096;
}

Result<AddressRange> AddressRange::reserve(std::size_t bytes) {
    AddressRange range;
    if (bytes == 0) return range;
    const auto rounded = checked_align_up(bytes, page_bytes());
    // No access: the pages count against no limit on memory until they are made usable.
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const base = rounded ? ::mmap(nullptr, *rounded, PROT_NONE, kFlags, -1, 0) : MAP_FAILED;
    if (base == MAP_FAILED) {
        return error(StatusCode::out_of_host_memory, "this process may not have ", bytes, " bytes of addresses more");
    }
    range.base_ = static_cast<std::byte*>(base);
    range.size_bytes_ = *rounded;
    return range;
}

bool AddressRange::make_usable(std::size_t offset, std::size_t bytes) noexcept {
    return ::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) == 0;
}

void AddressRange::give_back(std::size_t offset, std::size_t bytes) noexcept {
    // Where the kernel refuses (locked pages), zeroing keeps the promise about the content.
    if (::madvise(base_ + offset, bytes, MADV_DONTNEED) != 0) std::memset(base_ + offset, 0, bytes);
}

AddressRange::~AddressRange() {
    if (base_ != nullptr) ::munmap(base_, size_bytes_);
}

}  // namespace mixtura
