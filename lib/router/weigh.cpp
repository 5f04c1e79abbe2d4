// Weights of a row's chosen experts.
#include <algorithm>
#include <limits>

#include "kernels/reduce.hpp"
#include "router/steps.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Phi-3.5-MoE's inference (arXiv 2409.12136; transformers, modeling_phimoe.py, sparsemixer).  The j-th choice c, with
// m = x_c, competes with the experts that are neither above it nor chosen before it, and of these only with
//     (m - x_e) / max(|x_e|, m) <= 2 epsilon
// Its weight is its share in the softmax over them.  Where the choices are the K best this is the owners' code, whose
// loop ends after two; where a bias, a group limit or a full expert put something else in, m is still the choice's own
// logit, so that the weight is never 0.
void weigh_by_sparsemixer(const RouteRules& rules, const float* logits, const std::int32_t* ids, std::int64_t count,
                          float* row, float* weights) noexcept {
    const float limit = 2.0F * rules.policy.sparsemixer_epsilon;
    for (std::int64_t j = 0; j < count; ++j) {
        const float largest = logits[ids[j]];
        for (std::int64_t e = 0; e < rules.expert_count; ++e) {
            const float x = logits[e];
            const float magnitude = x < 0.0F ? -x : x;
            const float factor = magnitude > largest ? magnitude : largest;
            const bool is_out = x > largest || (largest - x) / factor > limit;  // 0 / 0 is not out
            row[e] = is_out ? -kInfinity : x;
        }
        for (std::int64_t i = 0; i < j; ++i) row[ids[i]] = -kInfinity;
        rules.kernels.softmax_row(row, rules.expert_count, row);
        weights[j] = row[ids[j]];
    }
}

}  // namespace

void renormalise(float floor, float bias, float* weights, std::int64_t count) noexcept {
    const float divisor = std::max(sum_f32(weights, count), floor) + bias;
    const float share = 1.0F / static_cast<float>(count);
    for (std::int64_t j = 0; j < count; ++j) weights[j] = divisor > 0.0F ? weights[j] / divisor : share;
}

void weigh(const RouteRules& rules, const float* logits, const std::int32_t* ids, std::int64_t count,
           const RowScratch& scratch, float* weights) noexcept {
    const RouterPolicy& policy = rules.policy;
    switch (policy.scoring) {
        case RouterScoring::softmax:
        case RouterScoring::sigmoid:
            for (std::int64_t j = 0; j < count; ++j) weights[j] = scratch.scores[ids[j]];
            break;
        case RouterScoring::softmax_of_chosen:  // e^(x_j - max) / Σ over the chosen (Mixtral, arXiv 2401.04088, 2.1)
            for (std::int64_t j = 0; j < count; ++j) weights[j] = logits[ids[j]];
            rules.kernels.softmax_row(weights, count, weights);
            break;
        case RouterScoring::sparsemixer:
            weigh_by_sparsemixer(rules, logits, ids, count, scratch.scores, weights);
            break;
    }
    if (policy.renormalise) renormalise(policy.renormalise_floor, policy.renormalise_bias, weights, count);
    if (policy.routed_scale != 1.0F) {
        for (std::int64_t j = 0; j < count; ++j) weights[j] *= policy.routed_scale;
    }
}

}  // namespace mixtura
