#include "memory/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "memory/system_error.hpp"

namespace mixtura {

Result<MappedFile> MappedFile::map(std::shared_ptr<const File> file, std::uint64_t offset_bytes,
                                   std::size_t size_bytes) {
    struct stat facts {};
    if (::fstat(file->descriptor(), &facts) != 0) {
        return error(StatusCode::io, "cannot read the size of ", quoted(file->name(), 400), ": ",
                     system_error_text(errno));
    }
    const auto size_now = static_cast<std::uint64_t>(facts.st_size);
    if (offset_bytes > size_now || size_bytes > size_now - offset_bytes) {
        return error(StatusCode::corrupt_file, quoted(file->name(), 400), " ends at byte ", size_now, ", but ",
                     size_bytes, " bytes at byte ", offset_bytes, " are to be mapped");
    }
    MappedFile mapping;
    if (size_bytes == 0) return mapping;
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t lead = offset_bytes % page_bytes;
    const std::size_t pages_bytes = size_bytes + static_cast<std::size_t>(lead);  // within the file, so it cannot wrap
    void* pages = ::mmap(nullptr, pages_bytes, PROT_READ, MAP_PRIVATE, file->descriptor(),
                         static_cast<off_t>(offset_bytes - lead));
    if (pages == MAP_FAILED) {
        return error(StatusCode::io, "cannot map ", size_bytes, " bytes at byte ", offset_bytes, " of ",
                     quoted(file->name(), 400), ": ", system_error_text(errno));
    }
    mapping.file_ = std::move(file);
    mapping.pages_ = pages;
    mapping.pages_bytes_ = pages_bytes;
    mapping.bytes_ = {static_cast<const std::byte*>(pages) + lead, size_bytes};
    return mapping;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::move(other.file_)),
      pages_(std::exchange(other.pages_, nullptr)),
      pages_bytes_(std::exchange(other.pages_bytes_, 0)),
      bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    MappedFile taken(std::move(other));
    std::swap(file_, taken.file_);
    std::swap(pages_, taken.pages_);
    std::swap(pages_bytes_, taken.pages_bytes_);
    std::swap(bytes_, taken.bytes_);
    return *this;  // and what this one mapped before goes with `taken`
}

MappedFile::~MappedFile() {
    if (pages_ != nullptr) ::munmap(pages_, pages_bytes_);
}

}  // namespace mixtura
