#include "cli/compare_measures.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mixtura::cli {
namespace {

// ln Σ exp(x), with the maximum taken out.
double log_sum(std::span<const float> logits) {
    const float largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(largest));
    return static_cast<double>(largest) + std::log(sum);
}

TokenId likeliest(std::span<const float> logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double divergence(std::span<const float> a, double sum_a, std::span<const float> b, double sum_b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double log_a = static_cast<double>(a[i]) - sum_a, log_b = static_cast<double>(b[i]) - sum_b;
        total += std::exp(log_a) * (log_a - log_b);
    }
    return std::max(total, 0.0);  // never below 0 but by rounding
}

}  // namespace

void LogitComparison::add(std::int64_t position, std::span<const float> a, std::span<const float> b,
                          std::optional<TokenId> next) {
    are_bits_equal_ = are_bits_equal_ && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
    const double sum_a = log_sum(a), sum_b = log_sum(b), kl = divergence(a, sum_a, b, sum_b);
    const TokenId top_a = likeliest(a), top_b = likeliest(b);
    if (top_a != top_b && !first_difference_) first_difference_ = Difference{position, top_a, top_b};
    for (std::size_t r = 0; r < kPositionRanges.size(); ++r) {
        if (position < kPositionRanges[r].first || position >= kPositionRanges[r].last) continue;
        LogitDistance& range = ranges_[r];
        ++range.tokens;
        range.divergence_sum += kl;
        range.divergence_max = std::max(range.divergence_max, kl);
        if (top_a == top_b) ++range.same_top;
        if (!next) continue;
        const auto token = static_cast<std::size_t>(*next);
        ++range.scored;
        range.loss_a += sum_a - static_cast<double>(a[token]);
        range.loss_b += sum_b - static_cast<double>(b[token]);
    }
}

Routes Routes::of(const RoutePlan& plan) {
    return {plan.tokens, plan.choices, plan.experts, plan.expert_ids, plan.weights};
}

void RouteDistance::add(const Routes& a, const Routes& b) {
    for (std::int64_t t = 0; t < std::min(a.tokens, b.tokens); ++t) {
        const std::span ids_b =
            std::span(b.expert_ids)
                .subspan(static_cast<std::size_t>(t * b.choices), static_cast<std::size_t>(b.choices));
        double weight = 0, kept = 0;
        std::ptrdiff_t used = 0, shared = 0;
        for (std::int64_t k = 0; k < a.choices; ++k) {
            const auto at = static_cast<std::size_t>(t * a.choices + k);
            if (a.expert_ids[at] < 0) continue;
            ++used;
            weight += static_cast<double>(a.weights[at]);
            if (std::find(ids_b.begin(), ids_b.end(), a.expert_ids[at]) == ids_b.end()) continue;
            ++shared;
            kept += static_cast<double>(a.weights[at]);
        }
        const std::ptrdiff_t used_b =
            std::count_if(ids_b.begin(), ids_b.end(), [](std::int32_t expert) { return expert >= 0; });
        ++tokens;
        if (used == shared && used_b == shared) ++same_set;
        kept_sum += weight > 0 ? kept / weight : 1.0;
    }
}

}  // namespace mixtura::cli
