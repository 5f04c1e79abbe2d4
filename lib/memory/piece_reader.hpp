// Reads large pieces of a file into a caller's scratch, at the disk's own rate.  What the page cache holds comes from
// there; the rest of a large file is read past it (O_DIRECT): copying a model through the cache costs a processor more
// than packing its weights does, and fills with pages that nobody reads again the memory that the weights need.
#pragma once

#include <memory>
#include <span>

#include "memory/aligned_buffer.hpp"
#include "memory/file.hpp"

namespace mixtura {

class PieceReader {
  public:
    // Files of at least `direct_from_bytes` are read past the cache, where the file system allows it.
    PieceReader(std::shared_ptr<const File> file, std::uint64_t direct_from_bytes);
    ~PieceReader();
    PieceReader(const PieceReader&) = delete;
    PieceReader& operator=(const PieceReader&) = delete;

    // The bytes [offset, offset + size), in `scratch`, which grows as it must; valid until it is used again.  Errors as
    // File::read_at; OUT_OF_HOST_MEMORY.  Threads: any-thread, each with a scratch of its own.   Blocks: on the disk.
    Result<std::span<const std::byte>> read(std::uint64_t offset_bytes, std::size_t size_bytes,
                                            AlignedBuffer& scratch) const;

    const File& file() const noexcept { return *file_; }

  private:
    bool is_cached(std::uint64_t offset_bytes, std::uint64_t size_bytes) const noexcept;

    std::shared_ptr<const File> file_;
    int direct_descriptor_ = -1;  // the same file, opened with O_DIRECT; -1: not to be used
    void* mapped_ = nullptr;      // the same file, for asking what is cached
};

}  // namespace mixtura
