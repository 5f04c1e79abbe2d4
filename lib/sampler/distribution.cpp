#include "sampler/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sampler/exponential.hpp"
#include "sampler/scan.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kBlock = 256;  // candidates whose weights are summed at once when a draw looks for its place

// The key of the k-th largest logit.
std::uint32_t top_k_cut(std::span<const float> logits, std::size_t k, CutBins& bins) noexcept {
    return find_cut(
        logits.size(), [&](std::size_t i) { return order_key(logits[i]); }, [](std::size_t) { return 1.0; },
        static_cast<double>(k), bins);
}

}  // namespace

void Distribution::build(std::span<const float> logits, float maximum, const Filters& filters) {
    // Room for the whole vocabulary at once: the loop below stores first and counts afterwards.
    ids_.resize(logits.size());
    scaled_.resize(logits.size());
    weights_.resize(logits.size());
    if (filters.typical_p < 1) keys_.resize(logits.size());

    // Dividing the distance to the maximum, not the logit, keeps a temperature near 0 from making two logits infinite.
    const float base = maximum == kInfinity ? 0.0F : maximum;
    std::uint32_t cut = order_key(-kInfinity) + 1;  // what is ruled out is no candidate
    if (maximum == kInfinity) cut = order_key(kInfinity);
    if (filters.top_k > 0 && filters.top_k < logits.size()) cut = std::max(cut, top_k_cut(logits, filters.top_k, bins_));
    count_ = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        ids_[count_] = static_cast<std::uint32_t>(i);
        scaled_[count_] = (logits[i] - base) / filters.temperature;
        count_ += order_key(logits[i]) >= cut ? 1 : 0;
    }
    if (maximum == kInfinity) std::fill_n(scaled_.begin(), count_, 0.0F);
    exponentials(scaled_.data(), weights_.data(), count_);

    if (filters.top_p < 1) keep_top_p(static_cast<double>(filters.top_p));
    if (filters.min_p > 0) keep_min_p(filters.min_p);
    if (filters.typical_p < 1) keep_typical(static_cast<double>(filters.typical_p));
}

// Moves the candidates for which keeps(i) to the front, in order.
template <class Keeps>
void Distribution::keep(const Keeps& keeps) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const bool stays = keeps(i);
        ids_[kept] = ids_[i];
        scaled_[kept] = scaled_[i];
        weights_[kept] = weights_[i];
        kept += stays ? 1 : 0;
    }
    count_ = kept;
}

// The smallest upper set of probabilities that reaches p.
// Source: Holtzman and others, "The curious case of neural text degeneration", 2020 (arXiv 1904.09751).
void Distribution::keep_top_p(double p) noexcept {
    const double target = p * sum_of({weights_.data(), count_});
    const std::uint32_t cut = find_cut(
        count_, [&](std::size_t i) { return order_key(scaled_[i]); },
        [&](std::size_t i) { return static_cast<double>(weights_[i]); }, target, bins_);
    keep([&](std::size_t i) { return order_key(scaled_[i]) >= cut; });
}

// Probabilities of at least p times the largest, whose weight is 1: no filter before this one loses the maximum.
// Source: Nguyen and others, "Turning up the heat: min-p sampling", 2024 (arXiv 2407.01082).
void Distribution::keep_min_p(float p) noexcept {
    keep([&](std::size_t i) { return weights_[i] >= p; });
}

// With surprise s_i = -log p_i and entropy H = sum p_i s_i: those of smallest |s_i - H| that together reach p.
// Source: Meister and others, "Locally typical sampling", 2023 (arXiv 2202.00666).
void Distribution::keep_typical(double p) noexcept {
    const double total = sum_of({weights_.data(), count_});
    double mean = 0;  // sum p_i · scaled_i; a weight of 0 counts as 0, its scaled logit may be -inf
    for (std::size_t i = 0; i < count_; ++i) {
        if (weights_[i] > 0) mean += static_cast<double>(weights_[i]) * static_cast<double>(scaled_[i]);
    }
    mean /= total;  // H = log(total) - mean and s_i = log(total) - scaled_i, so the logarithm drops out of s_i - H
    for (std::size_t i = 0; i < count_; ++i) {
        const double deviation = std::abs(mean - static_cast<double>(scaled_[i]));
        keys_[i] = ~order_key(static_cast<float>(deviation));
    }
    const std::uint32_t cut = find_cut(
        count_, [&](std::size_t i) { return keys_[i]; },
        [&](std::size_t i) { return static_cast<double>(weights_[i]); }, p * total, bins_);
    keep([&](std::size_t i) { return keys_[i] >= cut; });
}

Distribution::Draw Distribution::draw(double u) const noexcept {
    const std::span<const float> weights(weights_.data(), count_);
    double total = 0;
    for (std::size_t first = 0; first < count_; first += kBlock) {
        total += sum_of(weights.subspan(first, std::min(kBlock, count_ - first)));
    }
    const double target = u * total;
    double below = 0;
    std::size_t last = 0;  // the last candidate that can be drawn, for a target that rounding puts at the very end
    const auto drawn = [&](std::size_t i) {
        return Draw{ids_[i], static_cast<float>(static_cast<double>(weights[i]) / total)};
    };
    for (std::size_t first = 0; first < count_; first += kBlock) {
        const std::size_t end = std::min(first + kBlock, count_);
        const double sum = sum_of(weights.subspan(first, end - first));
        const bool is_here = below + sum > target;
        double cumulative = below;
        for (std::size_t i = first; i < end; ++i) {
            if (weights[i] == 0) continue;
            cumulative += static_cast<double>(weights[i]);
            if (is_here && cumulative > target) return drawn(i);
            last = i;
        }
        below += sum;
    }
    return drawn(last);
}

void Distribution::write(std::span<float> out) const noexcept {
    const double total = sum_of({weights_.data(), count_});
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t i = 0; i < count_; ++i) {
        out[ids_[i]] = static_cast<float>(static_cast<double>(weights_[i]) / total);
    }
}

std::span<const std::uint32_t> Distribution::largest(std::span<const float> logits, std::size_t count) {
    largest_.clear();
    if (count == 0) return {};
    const std::uint32_t cut = std::max(order_key(-kInfinity) + 1, top_k_cut(logits, count, bins_));
    largest_.reserve(count);
    std::size_t above = 0;
    for (const float logit : logits) above += order_key(logit) > cut ? 1 : 0;
    std::size_t ties = count - std::min(count, above);  // of those at the cut, the first in id order
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const std::uint32_t key = order_key(logits[i]);
        if (key < cut || (key == cut && ties == 0)) continue;
        if (key == cut) --ties;
        largest_.push_back(static_cast<std::uint32_t>(i));
    }
    std::stable_sort(largest_.begin(), largest_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return order_key(logits[a]) > order_key(logits[b]);
    });
    return largest_;
}

}  // namespace mixtura
