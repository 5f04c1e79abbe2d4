// A byte range of a file as memory, read-only: opt-in, and used by nothing in this library on its own accord.
//
// DANGER: when the file shrinks while it is mapped (or its disk fails, or its network goes away), touching the lost
// bytes raises SIGBUS, which ends the host's process unless the host handles it.  This library installs no signal
// handlers, so it cannot turn that into an error.  Weight bytes are therefore read with File::read_at into memory we
// own; a mapping is for hosts that ask for it and know their files to stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "memory/file.hpp"

namespace mixtura {

class MappedFile {
  public:
    // `offset_bytes` need not lie on a page.  CORRUPT_FILE where the range is not in the file now (a file that shrank
    // since it was opened included), IO where the system refuses.  An empty range maps nothing.
    static Result<MappedFile> map(std::shared_ptr<const File> file, std::uint64_t offset_bytes, std::size_t size_bytes);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    // Valid as long as this object, wherever it is moved to; see above for what reading them can do.
    std::span<const std::byte> bytes() const noexcept { return bytes_; }

  private:
    MappedFile() noexcept = default;
    std::shared_ptr<const File> file_;
    void* pages_ = nullptr;  // whole pages around bytes_
    std::size_t pages_bytes_ = 0;
    std::span<const std::byte> bytes_;
};

}  // namespace mixtura
