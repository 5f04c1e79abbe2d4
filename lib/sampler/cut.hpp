// Where a selection is cut: the worst key that still belongs to the best ones which together reach a target.  One radix
// descent serves top-k (every element weighs 1), top-p and typical (it weighs its probability): three passes over the
// keys, no sort, and everything with the cut's key is kept, so ties are.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace mixtura {

// The order of floats as unsigned integers: a < b exactly when key(a) < key(b); -0 and +0 share a key.  Not for NaN.
inline std::uint32_t order_key(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 + 0 is +0
    return bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFU : 0x80000000U);
}

using CutBins = std::array<double, 2048>;  // 16 KiB: half of a small first-level cache

// The largest key c for which the elements with keys >= c weigh at least `target`; where rounding keeps the sum of all
// below it, the smallest key that weighs anything.  `key(i)` and `weight(i)` are asked for i in [0, count); weights are
// not negative and one is above 0.
template <class Key, class Weight>
std::uint32_t find_cut(std::size_t count, const Key& key, const Weight& weight, double target, CutBins& bins) noexcept {
    std::uint32_t prefix = 0;
    std::uint32_t prefix_mask = 0;
    double above = 0;  // weight of the keys above everything that begins with the prefix
    for (const int shift : {21, 10, 0}) {
        const std::uint32_t digit_mask = shift == 0 ? 0x3FF : 0x7FF;  // 11 + 11 + 10 bits
        bins.fill(0);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t k = key(i);
            if (((k ^ prefix) & prefix_mask) == 0) bins[k >> shift & digit_mask] += weight(i);
        }
        std::uint32_t chosen = 0;
        double above_chosen = above;
        for (std::uint32_t digit = digit_mask + 1; digit-- > 0;) {
            if (bins[digit] == 0) continue;
            chosen = digit;
            above_chosen = above;
            if (above + bins[digit] >= target) break;
            above += bins[digit];
        }
        above = above_chosen;
        prefix |= chosen << shift;
        prefix_mask |= digit_mask << shift;
    }
    return prefix;
}

}  // namespace mixtura
