// A file opened for reading.  The descriptor is close-on-exec and keeps the file it named when it was opened: one that
// is replaced or deleted later is still read as it was; one that is truncated gives an error, never a signal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/byte_source.hpp"

namespace mixtura {

class File final : public ByteSource {
  public:
    // Opens a regular file (symbolic links are followed).  NOT_FOUND, IO, or INVALID_ARGUMENT for a folder, a pipe or a
    // device.
    static Result<std::shared_ptr<const File>> open(const std::string& path);
    ~File() override;

    std::uint64_t size_bytes() const noexcept override { return size_bytes_; }
    const std::string& name() const noexcept override { return path_; }
    Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const override;
    int descriptor() const noexcept { return descriptor_; }

    File(std::string path, int descriptor, std::uint64_t size_bytes) noexcept
        : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}

  private:
    std::string path_;
    int descriptor_;
    std::uint64_t size_bytes_;
};

// The whole of a small file as text; OUT_OF_RANGE when it holds more than `bytes_max`.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t bytes_max);

// The names in a folder, sorted, without "." and "..".  NOT_FOUND, IO, OUT_OF_HOST_MEMORY.  (Not std::filesystem's
// directory_iterator: libstdc++ 12 allocates in a noexcept function of it, so that failure would end the process.)
Result<std::vector<std::string>> names_in_folder(const std::string& path);

}  // namespace mixtura
