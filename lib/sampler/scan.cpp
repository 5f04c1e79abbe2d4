#include "sampler/scan.hpp"

#include <limits>

namespace mixtura {
namespace {

constexpr std::size_t kLanes = 16;  // constant inner loops of 16, which compilers turn into vectors at -O2

}  // namespace

LogitScan scan_logits(std::span<const float> logits) noexcept {
    float maximum[kLanes];
    for (float& lane : maximum) lane = -std::numeric_limits<float>::infinity();
    int bad[kLanes] = {};
    const float* x = logits.data();
    std::size_t left = logits.size();
    for (; left >= kLanes; left -= kLanes, x += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) {
            maximum[i] = x[i] > maximum[i] ? x[i] : maximum[i];  // false for NaN, which is thereby passed over
            bad[i] |= x[i] != x[i] ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < left; ++i) {
        maximum[i] = x[i] > maximum[i] ? x[i] : maximum[i];
        bad[i] |= x[i] != x[i] ? 1 : 0;
    }
    LogitScan scan{maximum[0], bad[0] != 0};
    for (std::size_t i = 1; i < kLanes; ++i) {
        if (maximum[i] > scan.maximum) scan.maximum = maximum[i];
        scan.has_nan |= bad[i] != 0;
    }
    return scan;
}

std::size_t first_nan(std::span<const float> logits) noexcept {
    std::size_t i = 0;
    while (i < logits.size() && logits[i] == logits[i]) ++i;
    return i;
}

double sum_of(std::span<const float> weights) noexcept {
    double sums[kLanes] = {};
    const float* w = weights.data();
    std::size_t left = weights.size();
    for (; left >= kLanes; left -= kLanes, w += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) sums[i] += static_cast<double>(w[i]);
    }
    for (std::size_t i = 0; i < left; ++i) sums[i] += static_cast<double>(w[i]);
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
        for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    }
    return sums[0];
}

}  // namespace mixtura
