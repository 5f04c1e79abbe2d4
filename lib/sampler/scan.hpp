// Passes over a whole vocabulary: the largest logit of each block, the first NaN, scaling, sums of weights.  Their
// order of operations is fixed (16 accumulators, k mod 16, joined 8-4-2-1), so that every processor gives the same
// bits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixtura {

// Logits whose maximum is kept: a filter passes over a block that cannot hold what it looks for.  256k logits make 1024
// blocks, so that the 40 largest are found by looking at 40 blocks' maxima and at 4 % of the logits.
inline constexpr std::size_t kBlockLogits = 256;

struct LogitScan {
    float maximum;  // of the values that are no NaN; -inf where there are none
    bool has_nan;
};
// Also makes `block_maxima` the maximum of every kBlockLogits logits.
LogitScan scan_logits(std::span<const float> logits, std::vector<float>& block_maxima);

// The lowest index of a NaN; logits.size() where there is none.
std::size_t first_nan(std::span<const float> logits) noexcept;

bool all_at_least(std::span<const float> values, float least) noexcept;

// out[i] = (x[i] - center) / divisor; out may be x.
void scale_logits(const float* x, float center, float divisor, float* out, std::size_t count) noexcept;

// The sum of `weights` in double: 256k float weights keep 29 bits beyond their own.
double sum_of(std::span<const float> weights) noexcept;

}  // namespace mixtura
