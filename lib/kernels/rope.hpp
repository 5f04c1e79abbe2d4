// Rotary position embedding.  Su et al. 2021 (arXiv 2104.09864), section 3.2.2:
//   angle[t, i] = f32(position[t]) · f32(inverse_frequency[i]), one f32 product, as the owners' code does
//   a' = a cos - b sin as fma(-b, sin, a · cos);   b' = b cos + a sin as fma(a, sin, b · cos)
// Scalings (linear, NTK, YaRN, Llama 3, LongRoPE) are in the frequencies and in `magnitude`, which multiplies cos and
// sin; they are fixed per sequence when it is admitted (design.md, the determinism rule, 7).
#pragma once

#include <cstdint>

#include "kernels/kernel_table.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// inverse_frequencies [pair_count] · cosines, sines [T, pair_count], overwritten.  Positions below 2^24 are exact in
// f32.
void rope_table(ParallelFor& threads, const std::int32_t* positions, std::int64_t token_count,
                const float* inverse_frequencies, std::int64_t pair_count, float magnitude, float* cosines,
                float* sines) noexcept;

// Turns the first 2 · pair_count elements of every head in place; what lies behind them (partial rotary) stays.
// x: T rows, row_stride floats apart, of head_count heads, head_stride floats apart.
void rope_rotate(const KernelTable& kernels, ParallelFor& threads, RopePairing pairing, const float* cosines,
                 const float* sines, std::int64_t pair_count, float* x, std::int64_t token_count,
                 std::int64_t row_stride, std::int64_t head_count, std::int64_t head_stride) noexcept;

}  // namespace mixtura
