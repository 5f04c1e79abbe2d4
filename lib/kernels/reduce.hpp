// Sums and maxima along the inner dimension.  Where lanes must run along it, every instruction set computes what these
// loops compute: 16 virtual accumulators, element k going to accumulator k mod 16 in ascending order, then the tree
// 8-4-2-1.  One 512-bit register, two of 256 or four of 128 bits hold the 16, so the order costs nothing anywhere and
// depends on the length alone (design.md, the determinism rule, 1).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace mixtura {

inline constexpr std::int64_t kAccumulators = 16;

// The tree: accumulator i takes in i + 8, then i + 4, i + 2, i + 1.  Overwrites `accumulators`.
inline float tree_sum(float (&accumulators)[kAccumulators]) noexcept {
    for (std::int64_t width = kAccumulators / 2; width > 0; width /= 2) {
        for (std::int64_t i = 0; i < width; ++i) accumulators[i] += accumulators[i + width];
    }
    return accumulators[0];
}

// Σ x[k], each step one addition.
inline float sum_f32(const float* x, std::int64_t count) noexcept {
    float accumulators[kAccumulators] = {};
    for (std::int64_t k = 0; k < count; ++k) accumulators[k % kAccumulators] += x[k];
    return tree_sum(accumulators);
}

// Σ x[k] · y[k], each step one fused multiply-add.
inline float dot_f32(const float* x, const float* y, std::int64_t count) noexcept {
    float accumulators[kAccumulators] = {};
    for (std::int64_t k = 0; k < count; ++k) {
        accumulators[k % kAccumulators] = std::fma(x[k], y[k], accumulators[k % kAccumulators]);
    }
    return tree_sum(accumulators);
}

// Σ (x[k] - center)², the difference rounded, each square and its addition fused.
inline float sum_of_squares_f32(const float* x, std::int64_t count, float center) noexcept {
    float accumulators[kAccumulators] = {};
    for (std::int64_t k = 0; k < count; ++k) {
        const float difference = x[k] - center;
        accumulators[k % kAccumulators] = std::fma(difference, difference, accumulators[k % kAccumulators]);
    }
    return tree_sum(accumulators);
}

// The largest element, -inf for none; a NaN is passed over.  Exact, so any order will do; the final + 0 makes a zero
// positive, since which of two zeros was met first depends on the order.
inline float max_f32(const float* x, std::int64_t count) noexcept {
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < count; ++k) largest = x[k] > largest ? x[k] : largest;
    return largest + 0.0F;
}

}  // namespace mixtura
