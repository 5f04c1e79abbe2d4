// The block formats whose weights are small floats times an f32 scale: what the plain products multiply beside f32, f16
// and bf16, decoded in registers.  A format is a row of the table below; packer, reference and panel kernels read it.
//
// A unit is one block of a row (kernels/quant/blocks.hpp).  weight = value(code) · scale, rounded once.  So that a
// kernel needs one multiplication only, e4m3 codes count in 2^-8 (which is what their bits are as an f16) and the scale
// is 2^8 times as large; both are exact, but for a scale from 2^120 on, which makes its block infinite.  A block one of
// whose codes is NaN is NaN altogether: then kernels need not look for such codes, and a row that holds one gives NaN
// either way.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/quant/half.hpp"

namespace mixtura {

struct ScaledFormat {
    DType dtype = DType::unknown;
    std::int64_t unit_columns = 0;
};

inline constexpr ScaledFormat kScaledFormats[] = {
    {.dtype = DType::f8_e4m3_32, .unit_columns = 32},
    {.dtype = DType::f8_e4m3_128, .unit_columns = 128},
    {.dtype = DType::nf4, .unit_columns = 64},
};

// nullptr for a dtype that is none of them.  Threads: any-thread.
constexpr const ScaledFormat* scaled_format(DType dtype) noexcept {
    for (const ScaledFormat& format : kScaledFormats) {
        if (format.dtype == dtype) return &format;
    }
    return nullptr;
}

// Bytes of scales in front of a unit of a panel, and bytes of 16 rows' codes of one column.
inline constexpr std::int64_t kScaledHeaderBytes = 64, kScaledRows = 16;
constexpr std::int64_t scaled_column_bytes(const ScaledFormat& format) noexcept {
    return format.dtype == DType::nf4 ? kScaledRows / 2 : kScaledRows;
}
constexpr std::int64_t scaled_unit_bytes(const ScaledFormat& format) noexcept {
    return kScaledHeaderBytes + format.unit_columns * scaled_column_bytes(format);
}

// NF4: sixteen quantiles of the normal distribution, 0 among them, scaled to [-1, 1].
// Source: Dettmers et al. 2023, arXiv 2305.14314, appendix E; the numbers are those that bitsandbytes computes with.
inline constexpr float kNf4Map[16] = {
    -1.0F,       -0.69619280F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F, -0.091050036F, 0.0F,
    0.07958030F, 0.16093020F,  0.24611230F,  0.33791524F,  0.44070983F,  0.56261700F,  0.72295684F,   1.0F};

inline constexpr float kE4m3Unit = 0x1p-8F;
// What a code stands for: its value / 256.
constexpr float e4m3_value(std::uint8_t code) noexcept { return f8_e4m3_to_f32(code) * kE4m3Unit; }

// The scale that panels hold for a block's.
inline float e4m3_scale(float scale, const std::uint8_t* codes, std::size_t count) noexcept {
    bool has_nan = false;
    for (std::size_t i = 0; i < count; ++i) has_nan = has_nan || (codes[i] & 0x7FU) == 0x7FU;
    return has_nan ? std::numeric_limits<float>::quiet_NaN() : scale * (1.0F / kE4m3Unit);
}

// What the code of column k and row r of a unit stands for; `codes` is where the unit's begin in its panel.
inline float scaled_value(const ScaledFormat& format, const std::byte* codes, std::int64_t k, std::size_t r) noexcept {
    if (format.dtype == DType::nf4)
        return kNf4Map[std::to_integer<unsigned>(codes[k / 2 * kScaledRows + static_cast<std::int64_t>(r)]) >>
                           4 * static_cast<unsigned>(k % 2) &
                       0xFU];
    const std::byte* column = codes + k * scaled_column_bytes(format);
    return e4m3_value(std::to_integer<std::uint8_t>(column[r]));
}

}  // namespace mixtura
