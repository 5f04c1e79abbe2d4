// The first steps of a row: are its logits numbers, and what do clamp, temperature and mask make of them.
#include <algorithm>
#include <bit>
#include <limits>

#include "router/steps.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

// By the bits: the exponent of infinities and NaNs is all ones, and nothing else has so large a magnitude.
bool is_finite_row(const float* logits, std::int64_t expert_count) noexcept {
    std::uint32_t largest = 0;
    for (std::int64_t e = 0; e < expert_count; ++e) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(logits[e]) & 0x7FFF'FFFFU;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7F80'0000U;
}

std::int64_t clamp_logits(float limit, float* logits, std::int64_t expert_count) noexcept {
    std::int64_t changed = 0;
    for (std::int64_t e = 0; e < expert_count; ++e) {
        const float x = logits[e];
        if (x > limit) logits[e] = limit;
        if (x < -limit) logits[e] = -limit;
        changed += x > limit || x < -limit ? 1 : 0;
    }
    return changed;
}

void mask_experts(const std::vector<bool>& is_masked, float* logits, std::int64_t expert_count) noexcept {
    if (is_masked.empty()) return;
    for (std::int64_t e = 0; e < expert_count; ++e) {
        if (is_masked[static_cast<std::size_t>(e)]) logits[e] = -kInfinity;
    }
}

RowState prepare_logits(const RouteRules& rules, float* logits, std::int64_t& clamped) noexcept {
    const std::int64_t expert_count = rules.expert_count;
    const RouterPolicy& policy = rules.policy;
    bool is_finite = is_finite_row(logits, expert_count);
    if (is_finite && policy.logit_clamp) clamped += clamp_logits(*policy.logit_clamp, logits, expert_count);
    if (is_finite && policy.temperature != 1.0F) {
        rules.kernels.divide(logits, policy.temperature, expert_count, logits);
        is_finite = is_finite_row(logits, expert_count);  // a small temperature may have made a large logit infinite
    }
    mask_experts(policy.is_masked, logits, expert_count);
    return is_finite ? RowState::routed : RowState::non_finite;
}

void level_logits(const RouteRules& rules, float* logits) noexcept {
    std::fill_n(logits, rules.expert_count, 0.0F);
    mask_experts(rules.policy.is_masked, logits, rules.expert_count);
}

}  // namespace mixtura
