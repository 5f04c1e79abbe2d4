// Where a selection is cut: the worst key that still belongs to the best ones which together reach a target.  One
// descent serves top-k (every element weighs 1), top-p and typical (it weighs its probability).  No sort; everything
// with the cut's key is kept, so ties are.
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
inline float value_of_order_key(std::uint32_t key) noexcept {
    return std::bit_cast<float>(key ^ ((key >> 31) != 0 ? 0x80000000U : 0xFFFFFFFFU));
}

// Distances >= 0, of which the smaller is the better, as keys; and bins of 1/64 for them, which spread
// log-probabilities well (32 below the best a token has a weight of e^-32; the last bin takes what is beyond).
inline std::uint32_t distance_key(float distance) noexcept { return ~std::bit_cast<std::uint32_t>(distance + 0.0F); }
inline std::uint32_t distance_bin(float distance) noexcept {
    return 2047U - static_cast<std::uint32_t>((distance < 31.9F ? distance : 31.9F) * 64.0F);
}

using CutBins = std::array<double, 2048>;  // 16 KiB: half of a small first-level cache

struct ChosenBin {
    std::uint32_t bin;
    double above;  // weight of everything above it
};

// The highest bin in which the weights from the top, `above` included, reach the target; where rounding keeps their sum
// below it, the lowest bin that has any.
inline ChosenBin choose_bin(const CutBins& bins, double above, double target) noexcept {
    ChosenBin chosen{0, above};
    for (std::uint32_t bin = 2048; bin-- > 0;) {
        if (bins[bin] == 0) continue;
        chosen = {bin, above};
        above += bins[bin];
        if (above >= target) break;
    }
    return chosen;
}

// The largest key c for which the elements with keys >= c weigh at least `target`, to the same rounding: a radix
// descent over 11 + 11 + 10 bits.  `key(i)` and `weight(i)` are asked for i in [0, count); weights are not negative and
// one is above 0.
template <class Key, class Weight>
std::uint32_t find_cut(std::size_t count, const Key& key, const Weight& weight, double target, CutBins& bins) noexcept {
    std::uint32_t prefix = 0;
    std::uint32_t prefix_mask = 0;
    double above = 0;
    for (const int shift : {21, 10, 0}) {
        const std::uint32_t digit_mask = shift == 0 ? 0x3FF : 0x7FF;
        bins.fill(0);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t k = key(i);
            if (((k ^ prefix) & prefix_mask) == 0) bins[k >> shift & digit_mask] += weight(i);
        }
        const ChosenBin chosen = choose_bin(bins, above, target);
        above = chosen.above;
        prefix |= chosen.bin << shift;
        prefix_mask |= digit_mask << shift;
    }
    return prefix;
}

}  // namespace mixtura
