// Floating-point types of 16 bits and less, and f32: exact one way, round to nearest even the other.  Used by every
// decoder and encoder; integer steps only, so that the answer depends on no instruction set and no compiler flag.
// NaN: a NaN stays a NaN with its sign; f16 and bf16 payloads survive the way to f32 and back bit for bit (a
// processor's own conversion may set the quiet bit on the way; payloads are excluded from our promises of equality).
// Sources: IEEE 754-2019 (f16); the OCP formats OFP8 1.0 (e4m3, e5m2) and MX 1.0 (e8m0, e2m3, e3m2, e2m1); Noune et al.
// 2022, arXiv 2206.02915 (the fnuz forms).
#pragma once

#include <bit>
#include <cstdint>

namespace mixtura {

constexpr float f32_from_bits(std::uint32_t bits) noexcept { return std::bit_cast<float>(bits); }
constexpr std::uint32_t f32_bits(float value) noexcept { return std::bit_cast<std::uint32_t>(value); }

inline constexpr std::uint32_t kF32Infinity = 0x7F80'0000;
inline constexpr std::uint32_t kF32QuietNan = 0x7FC0'0000;

namespace detail {

// value / 2^shift to the nearest integer, ties to the even one.  1 <= shift <= 24, value < 2^31.
constexpr std::uint32_t shift_right_nearest_even(std::uint32_t value, unsigned shift) noexcept {
    const std::uint32_t odd = value >> shift & 1U;
    return (value + (1U << (shift - 1)) - 1 + odd) >> shift;
}

// A sign bit, then exponent bits, then fraction bits; exponent 0 means subnormal; no code is an infinity or a NaN.
template <unsigned kExponentBits, unsigned kFractionBits, int kBias>
constexpr float small_float(unsigned code) noexcept {
    const std::uint32_t sign = (code >> (kExponentBits + kFractionBits) & 1U) << 31;
    const std::uint32_t exponent = code >> kFractionBits & ((1U << kExponentBits) - 1);
    const std::uint32_t fraction = code & ((1U << kFractionBits) - 1);
    if (exponent != 0) {
        return f32_from_bits(sign | (exponent + static_cast<std::uint32_t>(127 - kBias)) << 23 |
                             fraction << (23 - kFractionBits));
    }
    constexpr int kUnitExponent = 1 - kBias - static_cast<int>(kFractionBits);  // a subnormal counts 2^kUnitExponent
    constexpr float kUnit = f32_from_bits(static_cast<std::uint32_t>(127 + kUnitExponent) << 23);
    return f32_from_bits(sign | f32_bits(static_cast<float>(fraction) * kUnit));
}

}  // namespace detail

// f16: 5 exponent bits (bias 15), 10 fraction bits.
constexpr float f16_to_f32(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t fraction = half & 0x03FFU;
    if ((half & 0x7C00U) == 0x7C00U) return f32_from_bits(sign | kF32Infinity | fraction << 13);
    return detail::small_float<5, 10, 15>(half);
}

// From 65520 on, halfway between the largest f16 (65504) and 2^16: infinity.
constexpr std::uint16_t f32_to_f16(float value) noexcept {
    const std::uint32_t sign = f32_bits(value) >> 16 & 0x8000U;
    const std::uint32_t magnitude = f32_bits(value) & 0x7FFF'FFFFU;
    std::uint32_t rounded = 0;
    if (magnitude > kF32Infinity) {
        const std::uint32_t payload = magnitude >> 13 & 0x03FFU;
        rounded = 0x7C00U | (payload != 0 ? payload : 1U);  // payload 0 would be an infinity
    } else if (magnitude >= 0x477F'F000U) {
        rounded = 0x7C00U;
    } else if (magnitude >= 0x3880'0000U) {  // 2^-14 and above: normal; a carry out of the fraction raises the exponent
        rounded = detail::shift_right_nearest_even(magnitude - (112U << 23), 13);
    } else if (magnitude > 0x3300'0000U) {  // above 2^-25: subnormal, counted in 2^-24
        const std::uint32_t significand = (magnitude & 0x007F'FFFFU) | 0x0080'0000U;
        rounded = detail::shift_right_nearest_even(significand, 126 - (magnitude >> 23));
    }
    return static_cast<std::uint16_t>(sign | rounded);
}

// bf16: the upper half of an f32.
constexpr float bf16_to_f32(std::uint16_t half) noexcept { return f32_from_bits(std::uint32_t{half} << 16); }

// Rounds to infinity past the largest bf16.  A NaN keeps the upper 7 bits of its payload and becomes quiet.
constexpr std::uint16_t f32_to_bf16(float value) noexcept {
    const std::uint32_t bits = f32_bits(value);
    if ((bits & 0x7FFF'FFFFU) > kF32Infinity) return static_cast<std::uint16_t>(bits >> 16 | 0x0040U);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

// e4m3 ("fn"): bias 7, no infinity; all ones is NaN; largest 448.
constexpr float f8_e4m3_to_f32(std::uint8_t code) noexcept {
    if ((code & 0x7FU) == 0x7FU) return f32_from_bits((code & 0x80U) << 24 | kF32QuietNan);
    return detail::small_float<4, 3, 7>(code);
}

// Beyond 464, halfway between the largest e4m3 (448) and what would be the next: NaN.
constexpr std::uint8_t f32_to_f8_e4m3(float value) noexcept {
    const std::uint32_t sign = f32_bits(value) >> 24 & 0x80U;
    const std::uint32_t magnitude = f32_bits(value) & 0x7FFF'FFFFU;
    std::uint32_t rounded = 0;
    if (magnitude > 0x43E8'0000U) {
        rounded = 0x7FU;
    } else if (magnitude >= 0x3C80'0000U) {  // 2^-6 and above: normal
        rounded = detail::shift_right_nearest_even(magnitude - (120U << 23), 20);
    } else if (magnitude > 0x3A80'0000U) {  // above 2^-10: subnormal, counted in 2^-9
        const std::uint32_t significand = (magnitude & 0x007F'FFFFU) | 0x0080'0000U;
        rounded = detail::shift_right_nearest_even(significand, 141 - (magnitude >> 23));
    }
    return static_cast<std::uint8_t>(sign | rounded);
}

// e5m2: bias 15, infinities and NaNs as in IEEE 754; largest 57344.
constexpr float f8_e5m2_to_f32(std::uint8_t code) noexcept { return f16_to_f32(static_cast<std::uint16_t>(code << 8)); }

// The fnuz forms: bias one higher (8 and 16), no infinity, no negative zero; its code 0x80 is the only NaN.
constexpr float f8_e4m3fnuz_to_f32(std::uint8_t code) noexcept {
    return code == 0x80U ? f32_from_bits(kF32QuietNan) : detail::small_float<4, 3, 8>(code);
}
constexpr float f8_e5m2fnuz_to_f32(std::uint8_t code) noexcept {
    return code == 0x80U ? f32_from_bits(kF32QuietNan) : detail::small_float<5, 2, 16>(code);
}

// e8m0: a scale, 2^(code - 127); 255 is NaN.  Code 0 is 2^-127, a subnormal f32.
constexpr float f8_e8m0_to_f32(std::uint8_t code) noexcept {
    if (code == 0xFFU) return f32_from_bits(kF32QuietNan);
    return f32_from_bits(code == 0 ? 0x0040'0000U : std::uint32_t{code} << 23);
}

// Half of the above, 2^(code - 128), without a NaN: the scale of GGUF's MXFP4, whose integer codes are doubled.
constexpr float f8_e8m0_half_to_f32(std::uint8_t code) noexcept {
    return f32_from_bits(code < 2 ? 0x0020'0000U << code : (std::uint32_t{code} - 1U) << 23);
}

// Sub-byte types: the code in the low bits, every code a number.
constexpr float f6_e2m3_to_f32(unsigned code) noexcept { return detail::small_float<2, 3, 1>(code); }
constexpr float f6_e3m2_to_f32(unsigned code) noexcept { return detail::small_float<3, 2, 3>(code); }
constexpr float f4_e2m1_to_f32(unsigned code) noexcept { return detail::small_float<2, 1, 1>(code); }

}  // namespace mixtura
