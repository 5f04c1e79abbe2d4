// Passes over a whole vocabulary: the largest logit, the first NaN, sums of weights.  Their order of operations is fixed
// (16 accumulators, k mod 16, joined 8-4-2-1), so that every processor gives the same bits.
#pragma once

#include <cstddef>
#include <span>

namespace mixtura {

struct LogitScan {
    float maximum;     // of the values that are no NaN; -inf where there are none
    bool has_nan;
};
LogitScan scan_logits(std::span<const float> logits) noexcept;

// The lowest index of a NaN; logits.size() where there is none.
std::size_t first_nan(std::span<const float> logits) noexcept;

// The sum of `weights` in double: 256k float weights keep 29 bits beyond their own.
double sum_of(std::span<const float> weights) noexcept;

}  // namespace mixtura
