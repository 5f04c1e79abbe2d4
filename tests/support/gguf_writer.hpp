// GGUF files for tests, written by code that shares nothing with the reader: well-formed as long as nobody reaches into
// its fields, and every field is open to be broken.
//   GgufFile file;
//   file.add("general.architecture", "llama").add("llama.block_count", std::uint32_t{3});
//   file.tensor("blk.0.attn_q.weight", DType::bf16, {64, 64}, bytes);
//   write_file(path, file.bytes());
#pragma once

#include <mixtura/types.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mixtura::test {

// A number as little-endian bytes.
template <class T>
std::string bytes_of(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// The format's own numbers of value types.
constexpr std::uint32_t kGgufU8 = 0, kGgufI8 = 1, kGgufU16 = 2, kGgufI16 = 3, kGgufU32 = 4, kGgufI32 = 5, kGgufF32 = 6,
                        kGgufBool = 7, kGgufString = 8, kGgufArray = 9, kGgufU64 = 10, kGgufI64 = 11, kGgufF64 = 12;

template <class T>
constexpr std::uint32_t gguf_type_of() {
    if constexpr (std::is_same_v<T, bool>)
        return kGgufBool;
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? kGgufF32 : kGgufF64;
    else if constexpr (sizeof(T) == 1)
        return std::is_signed_v<T> ? kGgufI8 : kGgufU8;
    else if constexpr (sizeof(T) == 2)
        return std::is_signed_v<T> ? kGgufI16 : kGgufU16;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? kGgufI32 : kGgufU32;
    else
        return std::is_signed_v<T> ? kGgufI64 : kGgufU64;
}

std::string gguf_string(std::string_view text);  // length and bytes
std::string gguf_array(std::uint32_t element_type, std::uint64_t count, std::string_view elements);

// The format's own number of an element type; throws where the format has none.
std::uint32_t gguf_element_type(DType dtype);

struct GgufFile {
    struct Entry {
        std::string key;
        std::uint32_t type = kGgufU8;
        std::string value;  // as it stands in the file
    };
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> extents;  // as in the file: innermost first
        std::uint32_t type = 0;
        std::string bytes;
        std::optional<std::uint32_t> rank;    // else the number of extents
        std::optional<std::uint64_t> offset;  // else behind the tensor before it, aligned
    };

    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::optional<std::uint64_t> tensor_count, metadata_count;  // else what there is
    std::vector<Entry> metadata;
    std::vector<Tensor> tensors;
    std::uint64_t alignment_bytes = 32;  // of the layout; set_alignment() also states it

    template <class T>
    requires std::is_arithmetic_v<T> GgufFile& add(std::string_view key, T value) {
        return add_raw(key, gguf_type_of<T>(), bytes_of(value));
    }
    GgufFile& add(std::string_view key, std::string_view text) { return add_raw(key, kGgufString, gguf_string(text)); }
    GgufFile& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
    template <class T>
    GgufFile& add_array(std::string_view key, const std::vector<T>& elements) {
        std::string bytes;
        for (const T element : elements) bytes += bytes_of(element);
        return add_raw(key, kGgufArray, gguf_array(gguf_type_of<T>(), elements.size(), bytes));
    }
    GgufFile& add_array(std::string_view key, const std::vector<std::string>& elements);
    GgufFile& add_raw(std::string_view key, std::uint32_t type, std::string value);
    GgufFile& set_alignment(std::uint32_t bytes);

    // `shape` outermost first, as the rest of the library has it.  Without bytes the tensor is all zeros.
    GgufFile& tensor(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape,
                     std::string bytes = {});

    std::string header() const;  // up to where the padding before the data begins
    std::string bytes() const;   // the whole file
};

// The model as `part_count` files that share out its tensors in order, with the split.* keys: part 1 has all metadata.
std::vector<GgufFile> split_gguf(const GgufFile& model, std::size_t part_count);

}  // namespace mixtura::test
