// Scores of a row and what the choice goes by: selection bias and group limits.
#include <limits>

#include "router/steps.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool weighs_by_score(const RouterPolicy& policy) noexcept {
    return policy.scoring == RouterScoring::softmax || policy.scoring == RouterScoring::sigmoid;
}

bool limits_groups(const RouterPolicy& policy) noexcept { return policy.groups_kept < policy.group_count; }

// A score rises with its logit, so the best logits are the best scores, and where f32 makes equal scores of unequal
// logits (a sigmoid from 17 up is 1, a softmax 104 below the largest is 0) the logits still tell which is better.  That
// holds as long as nothing is added to a score.
bool chooses_by_logit(const RouteRules& rules) noexcept {
    const RouterPolicy& policy = rules.policy;
    if (!weighs_by_score(policy)) return true;
    return rules.selection_bias == nullptr &&
           !(limits_groups(policy) && policy.group_score == GroupScore::sum_of_top_two);
}

// The best key of a group, or the sum of its two best; a key of -inf adds nothing, a group of nothing else is -inf.
float group_key(GroupScore kind, const float* keys, std::int64_t size) noexcept {
    float first = -kInfinity, second = -kInfinity;
    for (std::int64_t i = 0; i < size; ++i) {
        if (keys[i] > first) {
            second = first;
            first = keys[i];
        } else if (keys[i] > second) {
            second = keys[i];
        }
    }
    return kind == GroupScore::sum_of_top_two && second > -kInfinity ? first + second : first;
}

// Keys outside the best groups become -inf: never 0, which would be better than an expert whose bias is negative
// (some published code has 0 there).
void limit_groups(const RouterPolicy& policy, std::int64_t expert_count, const RowScratch& scratch) noexcept {
    const std::int64_t size = expert_count / policy.group_count;
    for (std::int64_t g = 0; g < policy.group_count; ++g) {
        scratch.group_keys[g] = group_key(policy.group_score, scratch.keys + g * size, size);
    }
    const std::int64_t kept = choose_largest(scratch.group_keys, policy.group_count, policy.groups_kept, scratch.order);
    if (kept == 0) return;  // every key is -inf already
    const std::int32_t last = scratch.order[kept - 1];
    const float lowest = scratch.group_keys[last];
    for (std::int64_t g = 0; g < policy.group_count; ++g) {
        const float key = scratch.group_keys[g];
        if (key > lowest || (key == lowest && g <= last)) continue;
        for (std::int64_t i = 0; i < size; ++i) scratch.keys[g * size + i] = -kInfinity;
    }
}

}  // namespace

// softmax: p_e = e^(x_e - max x) / Σ e^(x - max x), over all experts (Shazeer et al. 2017, arXiv 1701.06538)
// sigmoid: s_e = 1 / (1 + e^-x_e), each alone (DeepSeek-V3, arXiv 2412.19437, (15))
void compute_scores(const RouteRules& rules, const float* logits, float* scores) noexcept {
    if (rules.policy.scoring == RouterScoring::softmax) {
        rules.kernels.softmax_row(logits, rules.expert_count, scores);
    } else if (rules.policy.scoring == RouterScoring::sigmoid) {
        rules.kernels.activate(Activation::sigmoid, logits, rules.expert_count, scores);
    }
}

// key_e = score_e + bias_e: the bias balances load and chooses only (DeepSeek-V3, (16); Wang et al. 2024, arXiv
// 2408.15664).  Scorings without a score of their own use the logit.
const float* selection_keys(const RouteRules& rules, const float* logits, const RowScratch& scratch) noexcept {
    const float* bases = chooses_by_logit(rules) ? logits : scratch.scores;
    if (bases == logits && rules.selection_bias == nullptr && !limits_groups(rules.policy)) return logits;
    for (std::int64_t e = 0; e < rules.expert_count; ++e) {
        const float key = rules.selection_bias != nullptr ? bases[e] + rules.selection_bias[e] : bases[e];
        // A bias may be NaN: such a key is no key.
        scratch.keys[e] = logits[e] > -kInfinity && key > -kInfinity ? key : -kInfinity;
    }
    if (limits_groups(rules.policy)) limit_groups(rules.policy, rules.expert_count, scratch);
    return scratch.keys;
}

}  // namespace mixtura
