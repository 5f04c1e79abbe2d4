// The small vocabulary every public header shares: element types, shapes, token ids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mixtura {

using TokenId = std::int32_t;

// What a callback answers: go on, or end the request (which then reports CALLBACK_STOPPED or FinishReason::callback).
enum class Flow : std::int32_t { go_on = 0, stop = 1 };

// What one tensor's bytes mean.  The first part are the plain types of safetensors, the second GGUF's block formats,
// the third our own rows of what checkpoints store in several tensors (kernels/quant/blocks.hpp); no file holds those.
// The numbers are ours and permanent (they cross the C ABI); a file's own numbering is translated by its reader.
enum class DType : std::int32_t {
    unknown = 0,
    f64 = 1,
    f32 = 2,
    f16 = 3,
    bf16 = 4,
    f8_e4m3 = 5,
    f8_e5m2 = 6,
    f8_e8m0 = 7,
    f8_e4m3fnuz = 8,
    f8_e5m2fnuz = 9,
    f6_e2m3 = 10,
    f6_e3m2 = 11,
    f4_e2m1 = 12,
    c64 = 13,
    i64 = 20,
    i32 = 21,
    i16 = 22,
    i8 = 23,
    u64 = 24,
    u32 = 25,
    u16 = 26,
    u8 = 27,
    boolean = 28,

    q4_0 = 40,
    q4_1 = 41,
    q5_0 = 42,
    q5_1 = 43,
    q8_0 = 44,
    q8_1 = 45,
    q2_k = 46,
    q3_k = 47,
    q4_k = 48,
    q5_k = 49,
    q6_k = 50,
    q8_k = 51,
    iq1_s = 52,
    iq1_m = 53,
    iq2_xxs = 54,
    iq2_xs = 55,
    iq2_s = 56,
    iq3_xxs = 57,
    iq3_s = 58,
    iq4_nl = 59,
    iq4_xs = 60,
    tq1_0 = 61,
    tq2_0 = 62,
    mxfp4 = 63,
    nvfp4 = 64,

    f8_e4m3_32 = 80,   // an f32 scale, 32 f8_e4m3
    f8_e4m3_128 = 81,  // likewise 128
    int4_32 = 82,      // an f16 scale, a zero point of 0 to 31, 32 codes of 4 bits
    int4_64 = 83,      // likewise 64
    int4_128 = 84,     // likewise 128
    nf4 = 85,          // an f32 scale, 64 codes of 4 bits into the map of bitsandbytes' NF4
};

// A DType's arithmetic: `block_elements` consecutive elements along the innermost dimension take `block_bytes` bytes.
struct DTypeInfo {
    DType dtype = DType::unknown;
    std::string_view name;            // "bf16", "q4_k"; static storage
    std::int64_t block_elements = 1;  // 1 for plain types, 2 for f4, 4 for f6, 32 to 256 for block formats
    std::int64_t block_bytes = 0;
};

// Facts of a dtype; name "unknown" and 0 bytes for a number this version does not know.  Threads: any-thread.
const DTypeInfo& dtype_info(DType dtype) noexcept;
std::string_view dtype_name(DType dtype) noexcept;
DType dtype_from_name(std::string_view name) noexcept;  // DType::unknown where there is none of that name
std::span<const DTypeInfo> all_dtypes() noexcept;       // every known dtype, in ascending order of its number

// A tensor's extents, outermost first (row-major): a linear layer's weight is [out, in], whatever file it came from.
// Rank 0 is a scalar of one element.  Extents are not negative.
class Shape {
  public:
    static constexpr std::size_t kMaxRank = 8;

    Shape() noexcept = default;

    // Nullopt when `extents` are more than kMaxRank, one of them is negative, or their product leaves int64.
    static std::optional<Shape> from(std::span<const std::int64_t> extents) noexcept;

    std::size_t rank() const noexcept { return rank_; }
    std::int64_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
    std::span<const std::int64_t> extents() const noexcept { return {extents_.data(), rank_}; }
    std::int64_t element_count() const noexcept { return element_count_; }
    std::string to_string() const;  // "[64, 2048]"

    bool operator==(const Shape& other) const noexcept = default;

  private:
    std::array<std::int64_t, kMaxRank> extents_{};
    std::size_t rank_ = 0;
    std::int64_t element_count_ = 1;
};

// Bytes of a dense row-major tensor: nullopt when the dtype is unknown, the innermost extent (for f4 and f6: the
// element count) is not a whole number of blocks, or the product leaves uint64.
std::optional<std::uint64_t> tensor_size_bytes(DType dtype, const Shape& shape) noexcept;

}  // namespace mixtura
