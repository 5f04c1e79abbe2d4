// Activations of the integer products: int8 per block of 32 columns of their own row, symmetric (design.md, the
// determinism rule, 4).  Made once per row by KernelTable::quantise_row and read by every integer format, so a block
// also carries the sums that offsets and minimums need.
#pragma once

#include <cstdint>

namespace mixtura {

// x[k] ≈ d · q[k].  The sums are whole numbers of at most 4064, exact in f32.
struct ActivationBlock {
    std::int8_t q[32];  // within ±127
    float d;            // max|x| / 127; 0 for a block whose maximum is under 2^-100; NaN where one x is not finite
    float sum;          // Σ q
    float sum_low;      // Σ q[0..16)
    float sum_high;     // Σ q[16..32)
};
static_assert(sizeof(ActivationBlock) == 48);

// A block of smaller maximum is zero: 127 / maximum would come near the end of f32's range.
inline constexpr float kActivationTiny = 0x1p-100F;

}  // namespace mixtura
