// Bytes with a size and positional reads: what every reader of a file format is written against, so that the same code
// reads a file, a buffer in a test and a fuzzer's input.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mixtura {

class ByteSource {
  public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    // Size in bytes when it was opened.
    virtual std::uint64_t size_bytes() const noexcept = 0;
    // Name for messages: a path as the caller gave it.
    virtual const std::string& name() const noexcept = 0;
    // Fills all of `out` from `offset_bytes`; IO when the medium fails, CORRUPT_FILE when the source ends before (a
    // file that shrank after it was opened included).  Threads: any-thread.
    virtual Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const = 0;
};

// Bytes the caller keeps alive.
class MemorySource final : public ByteSource {
  public:
    MemorySource(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
    std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
    const std::string& name() const noexcept override { return name_; }
    Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const override;

  private:
    std::span<const std::byte> bytes_;
    std::string name_;
};

}  // namespace mixtura
