// The block formats whose weights are small integers times a scale: what the integer kernels multiply.  A format is a
// row of the table below; the file-layout reference, the packer and the panel kernels all read it, and the formula of
// the product (README.md, "The product of integer formats") is written once for all of them.
//
// A unit is one block of the file (32 to 256 elements of one row).  Every group of 32 or 16 elements in it has a scale
// s and, in some formats, a minimum m:   weight = s · q - m,   q = u - offset, or q = steps[u],  for the stored code u.
// AWQ and GPTQ (int4_*) have a zero point z for each unit, q = u - z, from 0 to 31.  It is no minimum s · z: taken off
// the codes as they are unpacked it costs nothing per token, and nothing cancels.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>

#include "kernels/quant/iq_tables.hpp"

namespace mixtura {

inline constexpr std::int64_t kBlockColumns = 32;  // activations are quantised per 32, so products go by 32
inline constexpr std::int64_t kUnitColumnsMax = 256;

struct IntegerFormat {
    DType dtype = DType::unknown;
    std::int64_t unit_columns = 0;   // 32 to 256
    std::int64_t group_columns = 0;  // 32 or 16
    int code_bits = 0;               // bits of u; 8-bit codes are stored as u = q + 128
    int offset = 0;
    const std::int8_t* steps = nullptr;  // 16 values for formats that look q up
    bool has_minimum = false;
    bool has_group_codes = false;     // s = d · scale code, m = dmin · minimum code; else s = d, m = dmin
    bool has_zero_points = false;     // one a unit
    bool has_exponent_scale = false;  // d is the 8-bit exponent code of mxfp4, not an f16
};

// Twice the values of e2m1; the scale is halved to match.
inline constexpr std::int8_t kE2m1Steps[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline constexpr IntegerFormat kIntegerFormats[] = {
    {.dtype = DType::q4_0, .unit_columns = 32, .group_columns = 32, .code_bits = 4, .offset = 8},
    {.dtype = DType::q4_1, .unit_columns = 32, .group_columns = 32, .code_bits = 4, .has_minimum = true},
    {.dtype = DType::q5_0, .unit_columns = 32, .group_columns = 32, .code_bits = 5, .offset = 16},
    {.dtype = DType::q5_1, .unit_columns = 32, .group_columns = 32, .code_bits = 5, .has_minimum = true},
    {.dtype = DType::q8_0, .unit_columns = 32, .group_columns = 32, .code_bits = 8, .offset = 128},
    {.dtype = DType::q2_k,
     .unit_columns = 256,
     .group_columns = 16,
     .code_bits = 2,
     .has_minimum = true,
     .has_group_codes = true},
    {.dtype = DType::q3_k,
     .unit_columns = 256,
     .group_columns = 16,
     .code_bits = 3,
     .offset = 4,
     .has_group_codes = true},
    {.dtype = DType::q4_k,
     .unit_columns = 256,
     .group_columns = 32,
     .code_bits = 4,
     .has_minimum = true,
     .has_group_codes = true},
    {.dtype = DType::q5_k,
     .unit_columns = 256,
     .group_columns = 32,
     .code_bits = 5,
     .has_minimum = true,
     .has_group_codes = true},
    {.dtype = DType::q6_k,
     .unit_columns = 256,
     .group_columns = 16,
     .code_bits = 6,
     .offset = 32,
     .has_group_codes = true},
    {.dtype = DType::iq4_nl, .unit_columns = 32, .group_columns = 32, .code_bits = 4, .steps = detail::kIq4Steps},
    {.dtype = DType::iq4_xs,
     .unit_columns = 256,
     .group_columns = 32,
     .code_bits = 4,
     .steps = detail::kIq4Steps,
     .has_group_codes = true},
    {.dtype = DType::mxfp4,
     .unit_columns = 32,
     .group_columns = 32,
     .code_bits = 4,
     .steps = kE2m1Steps,
     .has_exponent_scale = true},
    {.dtype = DType::int4_32, .unit_columns = 32, .group_columns = 32, .code_bits = 4, .has_zero_points = true},
    {.dtype = DType::int4_64, .unit_columns = 64, .group_columns = 32, .code_bits = 4, .has_zero_points = true},
    {.dtype = DType::int4_128, .unit_columns = 128, .group_columns = 32, .code_bits = 4, .has_zero_points = true},
};

// nullptr for a dtype that is no integer format.  Threads: any-thread.
constexpr const IntegerFormat* integer_format(DType dtype) noexcept {
    for (const IntegerFormat& format : kIntegerFormats) {
        if (format.dtype == dtype) return &format;
    }
    return nullptr;
}

// One unit's fields, unpacked.
struct IntegerUnit {
    std::uint16_t d;                           // f16 bits; mxfp4: exponent code
    std::uint16_t dmin;                        // f16 bits
    std::uint8_t zero;                         // formats with zero points
    std::int8_t scales[kUnitColumnsMax / 16];  // scale codes of the groups
    std::uint8_t minimums[kUnitColumnsMax / 16];
    std::uint8_t codes[kUnitColumnsMax];  // u
};

// Reads the block at `block` (any alignment, dtype_info(format.dtype).block_bytes).  Every byte pattern is defined.
void read_unit(const IntegerFormat& format, const std::byte* block, IntegerUnit& unit) noexcept;

// Scale and minimum of a group.  The products are exact (f16 times at most 8 bits); q4_1 and q5_1 store -m.
float group_scale(const IntegerFormat& format, std::uint16_t d, int scale_code) noexcept;
float group_minimum(const IntegerFormat& format, std::uint16_t dmin, int minimum_code) noexcept;

// `zero` counts in formats with zero points.
inline int integer_value(const IntegerFormat& format, std::uint8_t code, std::uint8_t zero) noexcept {
    if (format.has_zero_points) return code - zero;
    return format.steps != nullptr ? format.steps[code] : code - format.offset;
}

}  // namespace mixtura
