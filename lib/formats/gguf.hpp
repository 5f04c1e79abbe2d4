// GGUF versions 2 and 3, single or split: metadata and the table of tensors, copied and validated; no weight is read.
// Source: the GGUF specification (ggml's docs/gguf.md).  Every count is checked against the bytes that are left before
// anything is allocated for it.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/byte_source.hpp"

namespace mixtura {

// The file's own numbering of value types.
enum class GgufType : std::uint32_t {
    u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9, u64 = 10, i64 = 11,
    f64 = 12,
};
std::string_view gguf_type_name(GgufType type) noexcept;

// One metadata value.  A view into the header's copy: valid as long as the GgufHeader it came from.
class GgufValue {
  public:
    GgufType type() const noexcept { return type_; }
    bool is_array() const noexcept { return type_ == GgufType::array; }
    GgufType element_type() const noexcept { return element_type_; }  // of an array; else type()

    // Scalars; nothing where the value is of another kind or does not fit.
    std::optional<std::int64_t> as_integer() const noexcept;
    std::optional<double> as_real() const noexcept;  // any number
    std::optional<bool> as_boolean() const noexcept;
    std::optional<std::string_view> as_string() const noexcept;

    // Arrays.  Each accessor is nothing when the index is beyond the array or the element is of another kind.
    std::size_t size() const noexcept { return count_; }
    std::optional<std::int64_t> integer_at(std::size_t index) const noexcept;
    std::optional<double> real_at(std::size_t index) const noexcept;
    std::optional<bool> boolean_at(std::size_t index) const noexcept;
    std::optional<std::string_view> string_at(std::size_t index) const noexcept;  // constant time
    const GgufValue* array_at(std::size_t index) const noexcept;                   // element of an array of arrays
    std::span<const std::byte> raw() const noexcept { return bytes_; }  // the elements of a numeric array, little-endian

  private:
    friend class GgufParser;
    GgufType type_ = GgufType::u8;
    GgufType element_type_ = GgufType::u8;
    std::size_t count_ = 0;
    std::span<const std::byte> bytes_;            // the value's bytes in the header's copy
    std::span<const std::uint64_t> string_ends_;  // per element, end of its bytes in bytes_ (arrays of strings)
    std::span<const GgufValue> elements_;         // elements of an array of arrays
};

struct GgufMetadataEntry {
    std::string_view key;
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
    std::vector<std::unique_ptr<std::byte[]>> blocks_;               // the copied bytes; values and keys point in here
    std::vector<std::unique_ptr<std::uint64_t[]>> string_end_blocks_;
    std::vector<std::unique_ptr<GgufValue[]>> element_blocks_;
    std::vector<GgufMetadataEntry> metadata_;
    std::vector<GgufTensor> tensors_;
};

}  // namespace mixtura
