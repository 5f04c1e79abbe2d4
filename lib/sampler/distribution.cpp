#include "sampler/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/math.hpp"
#include "sampler/scan.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr std::size_t kBlock = 256;  // candidates whose weights are summed at once when a draw looks for its place

// Every token that min-p keeps has at least this logit.  The margins cover what the rounding of the logit's scaling and
// of exp can add; the filter itself decides.
float min_p_floor(float maximum, float temperature, float p) noexcept {
    const double top = static_cast<double>(maximum);
    const double margin = 1e-3 * static_cast<double>(temperature) + 1e-6 * std::abs(top);
    return static_cast<float>(top + static_cast<double>(temperature) * log_f64(static_cast<double>(p)) - margin);
}

}  // namespace

// Room for the whole vocabulary: the loops below store first and count afterwards.
void Distribution::reserve(std::size_t vocabulary_size) {
    ids_.resize(vocabulary_size);
    scaled_.resize(vocabulary_size);
    weights_.resize(vocabulary_size);
    block_sums_.resize((vocabulary_size + kBlock - 1) / kBlock);
}

void Distribution::build(const KernelTable& kernels, std::span<const float> logits, float maximum,
                         std::span<const float> block_maxima, const Filters& filters) {
    reserve(logits.size());
    float least = kLowest;  // what is ruled out is no candidate
    if (maximum == kInfinity) {
        least = kInfinity;
    } else if (filters.min_p > 0 && filters.top_p == 1) {  // else the weight of all is needed before min-p's turn
        least = std::max(least, min_p_floor(maximum, filters.temperature, filters.min_p));
    }
    if (filters.top_k > 0) least = std::max(least, top_k_bound(block_maxima, filters.top_k));
    gather(logits, block_maxima, least);
    if (filters.top_k > 0 && filters.top_k < count_) keep_top_k(filters.top_k);

    // Dividing the distance to the maximum, not the logit, keeps a temperature near 0 from making two logits infinite.
    scale_logits(scaled_.data(), maximum, filters.temperature, scaled_.data(), count_);
    if (maximum == kInfinity) std::fill_n(scaled_.begin(), count_, 0.0F);
    kernels.softmax_row(scaled_.data(), static_cast<std::int64_t>(count_), weights_.data());

    if (filters.top_p < 1) keep_top_p(static_cast<double>(filters.top_p));
    if (filters.min_p > 0) keep_min_p(filters.min_p);
    if (filters.typical_p < 1) keep_typical(static_cast<double>(filters.typical_p));
}

// Makes the candidates those of at least `least`; scaled_ is their logit.
void Distribution::gather(std::span<const float> logits, std::span<const float> block_maxima, float least) noexcept {
    std::uint32_t* const ids = ids_.data();
    float* const scaled = scaled_.data();
    std::size_t count = 0;
    for (std::size_t block = 0; block < block_maxima.size(); ++block) {
        if (block_maxima[block] < least) continue;
        const std::size_t first = block * kBlockLogits;
        const std::size_t end = std::min(first + kBlockLogits, logits.size());
        if (all_at_least(logits.subspan(first, end - first), least)) {  // as without filters: three times as quick
            for (std::size_t i = first; i < end; ++i) ids[count + i - first] = static_cast<std::uint32_t>(i);
            std::copy_n(logits.data() + first, end - first, scaled + count);
            count += end - first;
            continue;
        }
        for (std::size_t i = first; i < end; ++i) {
            ids[count] = static_cast<std::uint32_t>(i);
            scaled[count] = logits[i];
            count += logits[i] >= least ? 1 : 0;
        }
    }
    count_ = count;
}

// The k-th largest block maximum: k logits are at least as large, so it is no larger than the k-th largest logit.
float Distribution::top_k_bound(std::span<const float> block_maxima, std::size_t k) noexcept {
    if (k > block_maxima.size()) return -kInfinity;
    return value_of_order_key(find_cut(
        block_maxima.size(), [&](std::size_t i) { return order_key(block_maxima[i]); }, [](std::size_t) { return 1.0; },
        static_cast<double>(k), bins_));
}

// Moves the candidates for which keeps(i) to the front, in order.  keeps(i) may read what is at i and behind.
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

// The candidates of least distance that together weigh `target`.  distance(i) >= 0 may read ids, scaled logits and
// weights of candidate i.  Bins of distance first, which leave little for the exact cut.
template <class Distance>
void Distribution::keep_nearest(const Distance& distance, double target) noexcept {
    bins_.fill(0);
    for (std::size_t i = 0; i < count_; ++i) bins_[distance_bin(distance(i))] += static_cast<double>(weights_[i]);
    const std::uint32_t bin = choose_bin(bins_, 0, target).bin;
    keep([&](std::size_t i) { return distance_bin(distance(i)) >= bin; });
    const std::uint32_t cut = find_cut(
        count_, [&](std::size_t i) { return distance_key(distance(i)); },
        [&](std::size_t i) { return static_cast<double>(weights_[i]); }, target, bins_);
    keep([&](std::size_t i) { return distance_key(distance(i)) >= cut; });
}

// The k largest logits.
void Distribution::keep_top_k(std::size_t k) noexcept {
    const std::uint32_t cut = find_cut(
        count_, [&](std::size_t i) { return order_key(scaled_[i]); }, [](std::size_t) { return 1.0; },
        static_cast<double>(k), bins_);
    keep([&](std::size_t i) { return order_key(scaled_[i]) >= cut; });
}

// The smallest upper set of probabilities that reaches p.
// Source: Holtzman and others, "The curious case of neural text degeneration", 2020 (arXiv 1904.09751).
void Distribution::keep_top_p(double p) noexcept {
    const double total = sum_of({weights_.data(), count_});
    // Candidates below (1 - p) · total / count weigh less than (1 - p) · total together, so the others reach p without
    // them.  Most of a large vocabulary goes here, at the cost of a comparison.
    keep_weights(static_cast<float>(0.999 * (1 - p) * total / static_cast<double>(count_)));
    keep_nearest([&](std::size_t i) { return 0.0F - scaled_[i]; }, p * total);
}

// By a branch: where few are kept, it is foreseen; keep()'s chain of stores would take three times as long.
void Distribution::keep_weights(float least) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        if (weights_[i] < least) continue;
        ids_[kept] = ids_[i];
        scaled_[kept] = scaled_[i];
        weights_[kept++] = weights_[i];
    }
    count_ = kept;
}

// Probabilities of at least p times the largest.
// Source: Nguyen and others, "Turning up the heat: min-p sampling", 2024 (arXiv 2407.01082).
void Distribution::keep_min_p(float p) noexcept {
    keep_weights(p * *std::max_element(weights_.data(), weights_.data() + count_));
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
    keep_nearest([&](std::size_t i) { return static_cast<float>(std::abs(mean - static_cast<double>(scaled_[i]))); },
                 p * total);
}

Distribution::Draw Distribution::draw(double u) noexcept {
    const std::span<const float> weights(weights_.data(), count_);
    double total = 0;
    std::size_t blocks = 0;
    for (std::size_t first = 0; first < count_; first += kBlock) {
        block_sums_[blocks] = sum_of(weights.subspan(first, std::min(kBlock, count_ - first)));
        total += block_sums_[blocks++];
    }
    const double target = u * total;
    const auto drawn = [&](std::size_t i) {
        return Draw{ids_[i], static_cast<float>(static_cast<double>(weights[i]) / total)};
    };
    double below = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        if (below + block_sums_[block] > target) {
            double cumulative = below;
            for (std::size_t i = block * kBlock; i < std::min((block + 1) * kBlock, count_); ++i) {
                cumulative += static_cast<double>(weights[i]);
                if (cumulative > target && weights[i] > 0) return drawn(i);
            }
        }
        below += block_sums_[block];
    }
    // Rounding put the target at the very end: the last candidate that weighs anything.
    std::size_t last = count_ - 1;
    while (last > 0 && weights[last] == 0) --last;
    return drawn(last);
}

void Distribution::write(std::span<float> out) const noexcept {
    const double total = sum_of({weights_.data(), count_});
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t i = 0; i < count_; ++i) {
        out[ids_[i]] = static_cast<float>(static_cast<double>(weights_[i]) / total);
    }
}

// The kernel sums in f32, 16 accumulators of V / 16 terms each; summing its quotients again in f64 takes out what that
// rounded.
double Distribution::log_of_sum(const KernelTable& kernels, std::span<const float> logits) {
    reserve(logits.size());
    kernels.softmax_row(logits.data(), static_cast<std::int64_t>(logits.size()), weights_.data());
    const auto top = static_cast<double>(*std::max_element(weights_.begin(), weights_.end()));  // e^0 / sum
    return log_f64(sum_of(weights_) / top);
}

std::span<const std::uint32_t> Distribution::largest(std::span<const float> logits, std::span<const float> block_maxima,
                                                     std::size_t count) {
    if (count == 0) return {};
    reserve(logits.size());
    gather(logits, block_maxima, std::max(kLowest, top_k_bound(block_maxima, count)));
    if (count < count_) keep_top_k(count);
    std::stable_sort(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](std::uint32_t a, std::uint32_t b) { return order_key(logits[a]) > order_key(logits[b]); });
    return {ids_.data(), std::min(count, count_)};  // of the ties at the cut, the first in id order
}

}  // namespace mixtura
