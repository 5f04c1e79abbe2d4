#include "memory/piece_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace mixtura {
namespace {

// Offsets, sizes and addresses of direct reads are multiples of the device's block; 4096 is one of every device's.
constexpr std::uint64_t kBlockBytes = 4096;

// Whether [offset, offset + size), in whole blocks, could be read; what lies behind the file's end need not be there.
bool read_direct(int descriptor, std::uint64_t offset, std::byte* out, std::size_t size, std::size_t needed) noexcept {
    std::size_t done = 0;
    while (done < needed) {
        const ssize_t got = ::pread(descriptor, out + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
        if (done < needed && done % kBlockBytes != 0) return false;
    }
    return true;
}

}  // namespace

PieceReader::PieceReader(std::shared_ptr<const File> file, std::uint64_t direct_from_bytes) : file_(std::move(file)) {
#if defined(O_DIRECT)
    if (file_->size_bytes() < direct_from_bytes) return;
    // By way of /proc it is the very file that was opened, whatever its name stands for now.
    const std::string path = text("/proc/self/fd/", file_->descriptor());
    direct_descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (direct_descriptor_ < 0) return;
    // Never read through: it only answers which pages are cached.  (preadv2 with RWF_NOWAIT would answer too, but it
    // starts the read that it does not wait for.)
    void* mapped = ::mmap(nullptr, static_cast<std::size_t>(file_->size_bytes()), PROT_READ, MAP_SHARED | MAP_NORESERVE,
                          file_->descriptor(), 0);
    if (mapped != MAP_FAILED) mapped_ = mapped;
#endif
}

PieceReader::~PieceReader() {
    if (mapped_ != nullptr) ::munmap(mapped_, static_cast<std::size_t>(file_->size_bytes()));
    if (direct_descriptor_ >= 0) ::close(direct_descriptor_);
}

// Whether the page cache holds all of [offset, offset + size); where the system will not tell, it does not.
bool PieceReader::is_cached(std::uint64_t offset_bytes, std::uint64_t size_bytes) const noexcept {
    if (mapped_ == nullptr) return false;
    unsigned char resident[kBlockBytes];
    const std::uint64_t end = offset_bytes + size_bytes;
    for (std::uint64_t at = offset_bytes / kBlockBytes * kBlockBytes; at < end; at += sizeof resident * kBlockBytes) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, sizeof resident * kBlockBytes));
        if (::mincore(static_cast<char*>(mapped_) + at, length, resident) != 0) return false;
        const std::size_t pages = (length + kBlockBytes - 1) / kBlockBytes;
        for (std::size_t i = 0; i < pages; ++i) {
            if ((resident[i] & 1) == 0) return false;
        }
    }
    return true;
}

Result<std::span<const std::byte>> PieceReader::read(std::uint64_t offset_bytes, std::size_t size_bytes,
                                                     AlignedBuffer& scratch) const {
    // Whole blocks around the piece; a lead of up to one block keeps file and memory alignment the same.
    const std::uint64_t lead = offset_bytes % kBlockBytes;
    const std::uint64_t needed = lead + size_bytes, whole = (needed + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    if (scratch.size_bytes() < whole + kBlockBytes) {
        MIXTURA_ASSIGN_OR_RETURN(scratch, AlignedBuffer::allocate(whole + kBlockBytes));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    std::byte* base = scratch.data() + (kBlockBytes - address % kBlockBytes) % kBlockBytes;
    const std::span<std::byte> piece(base + lead, size_bytes);
    if (direct_descriptor_ >= 0 && offset_bytes <= file_->size_bytes() &&
        size_bytes <= file_->size_bytes() - offset_bytes) {
        if (!is_cached(offset_bytes, size_bytes) &&
            read_direct(direct_descriptor_, offset_bytes - lead, base, static_cast<std::size_t>(whole),
                        static_cast<std::size_t>(needed)))
            return std::span<const std::byte>(piece);
    }
    MIXTURA_RETURN_IF_ERROR(file_->read_at(offset_bytes, piece));
    return std::span<const std::byte>(piece);
}

}  // namespace mixtura
