// GGUF versions 2 and 3, single or split: metadata and the table of tensors, copied and validated; no weight is read.
// Source: the GGUF specification (ggml's docs/gguf.md).  Every count is checked against the bytes that are left before
// anything is allocated for it.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/byte_source.hpp"

namespace mixtura {

// The file's own numbering of value types.
enum class GgufType : std::uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};
std::string_view gguf_type_name(GgufType type) noexcept;
std::size_t gguf_type_bytes(GgufType type) noexcept;  // 0 for strings and arrays

// One metadata value, copied out of the header.  Strings are bytes: the specification wants UTF-8, files differ.
class GgufValue {
  public:
    GgufType type() const noexcept { return type_; }
    bool is_array() const noexcept { return type_ == GgufType::array; }
    GgufType element_type() const noexcept { return element_type_; }  // of an array; else type()

    // Scalars; nothing where the value is of another kind or does not fit.
    std::optional<std::int64_t> as_integer() const noexcept;  // any integer type
    std::optional<double> as_real() const noexcept;           // any number
    std::optional<bool> as_boolean() const noexcept;
    std::optional<std::string_view> as_string() const noexcept;

    // Arrays.  Nothing where the index is beyond the array or the element is of another kind.  Constant time.
    std::size_t size() const noexcept { return count_; }
    std::optional<std::int64_t> integer_at(std::size_t index) const noexcept;
    std::optional<double> real_at(std::size_t index) const noexcept;
    std::optional<bool> boolean_at(std::size_t index) const noexcept;
    std::optional<std::string_view> string_at(std::size_t index) const noexcept;
    const GgufValue* array_at(std::size_t index) const noexcept;  // element of an array of arrays

    // The elements of an array of numbers or booleans as the file stores them, little-endian; of strings, their bytes
    // one after another.
    std::span<const char> raw() const noexcept { return bytes_; }

  private:
    friend class GgufParser;
    GgufType type_ = GgufType::u8;
    GgufType element_type_ = GgufType::u8;
    std::size_t count_ = 0;
    std::vector<char> bytes_;
    std::vector<std::uint32_t> string_ends_;  // arrays of strings: where each element's bytes end in bytes_
    std::vector<GgufValue> elements_;         // arrays of arrays
};

struct GgufMetadataEntry {
    std::string key;
    GgufValue value;
};

struct GgufTensor {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;                     // outermost first: the file's order reversed
    std::uint64_t offset_bytes = 0;  // absolute, in the file
    std::uint64_t size_bytes = 0;
};

class GgufHeader {
  public:
    // CORRUPT_FILE, UNSUPPORTED (version 1, big-endian, an element type this version does not know), UNKNOWN_FORMAT
    // (no GGUF at all) or IO.
    static Result<GgufHeader> read(const ByteSource& source);

    std::uint32_t version() const noexcept { return version_; }
    std::span<const GgufMetadataEntry> metadata() const noexcept { return metadata_; }
    const GgufValue* find(std::string_view key) const noexcept;
    std::span<const GgufTensor> tensors() const noexcept { return tensors_; }
    std::uint64_t alignment_bytes() const noexcept { return alignment_bytes_; }

    GgufHeader(GgufHeader&&) noexcept = default;
    GgufHeader& operator=(GgufHeader&&) noexcept = default;

  private:
    friend class GgufParser;
    GgufHeader() = default;
    std::uint32_t version_ = 0;
    std::uint64_t alignment_bytes_ = 32;
    std::vector<GgufMetadataEntry> metadata_;
    std::vector<GgufTensor> tensors_;
};

}  // namespace mixtura
