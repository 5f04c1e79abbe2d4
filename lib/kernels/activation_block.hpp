// Activations of the integer products: int8 per block of 32 columns of their own row, symmetric (design.md, the
// determinism rule, 4).  Made once per row by KernelTable::quantise_row and read by every integer format, so a block
// also carries the sums that offsets and minimums need, in the form that costs the inner loop nothing: one 64-byte line
// in all.
#pragma once

#include <cstdint>

namespace mixtura {

// An integer n of magnitude below 2^22 added to these bits gives the f32 kSumBase + n exactly, so an integer sum that
// starts here is a float without a conversion; README.md, "The product of integer formats".
inline constexpr std::int32_t kSumBaseBits = 0x4B40'0000;
inline constexpr float kSumBase = 0x1.8p23F;

// x[k] ≈ d · q[k].
struct ActivationBlock {
    std::int8_t q[32];  // within ±127
    float d;            // max|x| / 127; 0 for a block whose maximum is under 2^-100; NaN where one x is not finite
    float scaled_sum;   // d · Σ q, and of the two halves
    float scaled_sum_low;
    float scaled_sum_high;
    std::int32_t start;  // kSumBaseBits - 128 · Σ q: where sums of codes stored as q + 128 start; and of the two halves
    std::int32_t start_low;
    std::int32_t start_high;
    std::int32_t unused;  // 0
};
static_assert(sizeof(ActivationBlock) == 64);

// A block of smaller maximum is zero: 127 / maximum would come near the end of f32's range.
inline constexpr float kActivationTiny = 0x1p-100F;

// What a block holds besides q, from d and the sums of its two halves.
inline void set_sums(ActivationBlock& block, float d, std::int32_t sum_low, std::int32_t sum_high) noexcept {
    block.d = d;
    block.scaled_sum = d * static_cast<float>(sum_low + sum_high);
    block.scaled_sum_low = d * static_cast<float>(sum_low);
    block.scaled_sum_high = d * static_cast<float>(sum_high);
    block.start = kSumBaseBits - 128 * (sum_low + sum_high);
    block.start_low = kSumBaseBits - 128 * sum_low;
    block.start_high = kSumBaseBits - 128 * sum_high;
    block.unused = 0;
}

}  // namespace mixtura
