// Top-k of a row, and how much of it a share of the probability needs.
#include <algorithm>
#include <limits>

#include "router/steps.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The list stays sorted; E = 128 and K = 8 enter it some 30 times.  A key that equals the last of a full list comes
// later, so has the higher id, and stays out.
std::int64_t insert_largest(const float* keys, std::int64_t key_count, std::int64_t count_max,
                            std::int32_t* ids) noexcept {
    std::int64_t count = 0;
    float lowest = -kInfinity;
    for (std::int64_t e = 0; e < key_count; ++e) {
        const float key = keys[e];
        if (!(key > lowest)) continue;
        std::int64_t at = count < count_max ? count++ : count_max - 1;
        for (; at > 0 && keys[ids[at - 1]] < key; --at) ids[at] = ids[at - 1];
        ids[at] = static_cast<std::int32_t>(e);
        if (count == count_max) lowest = keys[ids[count_max - 1]];
    }
    return count;
}

}  // namespace

std::int64_t choose_largest(const float* keys, std::int64_t key_count, std::int64_t count_max,
                            std::int32_t* ids) noexcept {
    if (count_max <= kInsertionChoices) return insert_largest(keys, key_count, count_max, ids);
    std::int64_t count = 0;
    for (std::int64_t e = 0; e < key_count; ++e) {
        if (keys[e] > -kInfinity) ids[count++] = static_cast<std::int32_t>(e);
    }
    const std::int64_t chosen = std::min(count, count_max);
    std::partial_sort(ids, ids + chosen, ids + count, [keys](std::int32_t a, std::int32_t b) {
        return keys[a] > keys[b] || (keys[a] == keys[b] && a < b);
    });
    return chosen;
}

std::int64_t count_for_share(const float* probabilities, const std::int32_t* ids, std::int64_t count,
                             float share) noexcept {
    float sum = 0.0F;
    for (std::int64_t j = 0; j < count; ++j) {
        sum += probabilities[ids[j]];
        if (sum >= share) return j + 1;
    }
    return count;
}

std::int64_t choose_row(const RouteRules& rules, const float* logits, const RowScratch& scratch,
                        std::int32_t* ids) noexcept {
    const RouterPolicy& policy = rules.policy;
    const float* keys = selection_keys(rules, logits, scratch);
    std::int64_t count = choose_largest(keys, rules.expert_count, policy.top_k, scratch.order);
    if (policy.cumulative_probability && count > 1) {
        const float* probabilities = scratch.scores;
        if (policy.scoring != RouterScoring::softmax) {
            rules.kernels.softmax_row(logits, rules.expert_count, scratch.keys);  // the choice needs its keys no more
            probabilities = scratch.keys;
        }
        count = count_for_share(probabilities, scratch.order, count, *policy.cumulative_probability);
    }
    std::copy_n(scratch.order, count, ids);
    return count;
}

}  // namespace mixtura
