#include "sampler/scan.hpp"

#include <algorithm>
#include <limits>

namespace mixtura {
namespace {

constexpr std::size_t kLanes = 16;  // constant inner loops of 16, which compilers turn into vectors at -O2

// One block; `bad` becomes true where it holds a NaN.
float block_maximum(const float* x, std::size_t count, bool& bad) noexcept {
    float maximum[kLanes];
    for (float& lane : maximum) lane = -std::numeric_limits<float>::infinity();
    float trace[kLanes] = {};  // 0, or NaN once a NaN came by: NaN · 0 is NaN, and so is infinity · 0, told apart below
    for (; count >= kLanes; count -= kLanes, x += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) {
            maximum[i] = x[i] > maximum[i] ? x[i] : maximum[i];  // false for NaN, which is thereby passed over
            trace[i] += x[i] * 0.0F;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        maximum[i] = x[i] > maximum[i] ? x[i] : maximum[i];
        trace[i] += x[i] * 0.0F;
    }
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
        for (std::size_t i = 0; i < width; ++i) {
            maximum[i] = maximum[i + width] > maximum[i] ? maximum[i + width] : maximum[i];
            trace[i] += trace[i + width];
        }
    }
    bad = trace[0] != trace[0];
    return maximum[0];
}

}  // namespace

LogitScan scan_logits(std::span<const float> logits, std::vector<float>& block_maxima) {
    block_maxima.resize((logits.size() + kBlockLogits - 1) / kBlockLogits);
    LogitScan scan{-std::numeric_limits<float>::infinity(), false};
    for (std::size_t block = 0; block < block_maxima.size(); ++block) {
        const std::size_t first = block * kBlockLogits;
        const std::span<const float> part = logits.subspan(first, std::min(kBlockLogits, logits.size() - first));
        bool bad = false;
        block_maxima[block] = block_maximum(part.data(), part.size(), bad);
        if (bad && first_nan(part) < part.size()) scan.has_nan = true;
        if (block_maxima[block] > scan.maximum) scan.maximum = block_maxima[block];
    }
    return scan;
}

std::size_t first_nan(std::span<const float> logits) noexcept {
    std::size_t i = 0;
    while (i < logits.size() && logits[i] == logits[i]) ++i;
    return i;
}

bool all_at_least(std::span<const float> values, float least) noexcept {
    int below[kLanes] = {};
    const float* x = values.data();
    std::size_t left = values.size();
    for (; left >= kLanes; left -= kLanes, x += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) below[i] |= x[i] >= least ? 0 : 1;
    }
    for (std::size_t i = 0; i < left; ++i) below[i] |= x[i] >= least ? 0 : 1;
    int any = 0;
    for (const int lane : below) any |= lane;
    return any == 0;
}

void scale_logits(const float* x, float center, float divisor, float* out, std::size_t count) noexcept {
    float lanes[kLanes];
    for (; count >= kLanes; count -= kLanes, x += kLanes, out += kLanes) {
        for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = (x[i] - center) / divisor;
        for (std::size_t i = 0; i < kLanes; ++i) out[i] = lanes[i];
    }
    for (std::size_t i = 0; i < count; ++i) out[i] = (x[i] - center) / divisor;
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
