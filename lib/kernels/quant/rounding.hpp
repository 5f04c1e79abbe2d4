// Inside kernels/quant only: the float steps every encoder shares, each defined for every input.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/quant/half.hpp"

namespace mixtura::detail {

inline constexpr float kF16Largest = 65504.0F;

// The value within [low, high]; a NaN is 0.
inline float limited_finite(float value, float low, float high) noexcept {
    if (std::isnan(value)) return 0.0F;
    return value < low ? low : value > high ? high : value;
}

template <std::size_t kCount>
void limit_finite(const float* values, float (&limited)[kCount], float low, float high) noexcept {
    for (std::size_t i = 0; i < kCount; ++i) limited[i] = limited_finite(values[i], low, high);
}

// 1 / scale; 0 for a scale of 0 and for one so small that its inverse is infinite (its f16 is 0 anyway).
inline float inverse_or_zero(float scale) noexcept {
    if (scale == 0.0F) return 0.0F;
    const float inverse = 1.0F / scale;
    return std::isinf(inverse) ? 0.0F : inverse;
}

// A float scale as an f16 that is never infinite.
inline std::uint16_t finite_f16(float scale) noexcept {
    return f32_to_f16(limited_finite(scale, -kF16Largest, kF16Largest));
}

// The integer towards zero, within [low, high].
inline int truncated(float value, int low, int high) noexcept {
    return static_cast<int>(limited_finite(value, static_cast<float>(low), static_cast<float>(high)));
}

// The nearest integer within [low, high]; a value in the middle goes away from zero.  |x| + ½ would round up just below
// a middle, so the fraction is looked at by itself.
inline int nearest_away(float value, int low, int high) noexcept {
    const float limited = limited_finite(value, static_cast<float>(low), static_cast<float>(high));
    const float magnitude = std::fabs(limited);
    const int whole = static_cast<int>(magnitude);
    const int rounded = magnitude - static_cast<float>(whole) >= 0.5F ? whole + 1 : whole;
    return limited < 0.0F ? -rounded : rounded;
}

}  // namespace mixtura::detail
