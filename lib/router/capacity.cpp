// Capacity: an expert takes so many choices of one call and no more (GShard, Lepikhin et al. 2020, arXiv 2006.16668,
// 2.2; Switch, Fedus et al. 2021, arXiv 2101.03961, (3)).
//
// Order: token after token, within a token from its best choice to its last.  So a token's experts depend on earlier
// tokens only, as they would if it had come alone behind them; GShard instead serves every token's first choice before
// any second one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "router/steps.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Token {
    std::int32_t* ids;  // [count]
    std::int64_t count;
};

// Choices with room first, in order, and what is full behind them; returns how many have room.
std::int64_t take_room(Token token, std::int64_t capacity, std::int64_t* load, std::int32_t* full) noexcept {
    std::int64_t kept = 0, full_count = 0;
    for (std::int64_t j = 0; j < token.count; ++j) {
        const std::int32_t expert = token.ids[j];
        if (load[expert] < capacity) {
            ++load[expert];
            token.ids[kept++] = expert;
        } else {
            full[full_count++] = expert;
        }
    }
    std::copy_n(full, full_count, token.ids + kept);
    return kept;
}

// The best experts with room that the token has not chosen take the places from `kept` on; returns the number of
// choices that have room now.  They come behind the kept ones in order of key: nothing better was left out of these.
std::int64_t take_next_best(const RouteRules& rules, const float* logits, RowState state, const RowScratch& scratch,
                            Token token, std::int64_t kept, std::int64_t capacity, std::int64_t* load) noexcept {
    const float* given = logits;
    if (state == RowState::routed) {
        compute_scores(rules, logits, scratch.scores);
        given = selection_keys(rules, logits, scratch);
    }
    for (std::int64_t e = 0; e < rules.expert_count; ++e) {
        scratch.keys[e] = load[e] < capacity ? given[e] : -kInfinity;
    }
    for (std::int64_t j = 0; j < kept; ++j) scratch.keys[token.ids[j]] = -kInfinity;
    const std::int64_t found = choose_largest(scratch.keys, rules.expert_count, token.count - kept, scratch.order);
    for (std::int64_t i = 0; i < found; ++i) {
        token.ids[kept + i] = scratch.order[i];
        ++load[scratch.order[i]];
    }
    return kept + found;
}

}  // namespace

std::int64_t expert_capacity(const RouterPolicy& policy, std::int64_t expert_count, std::int64_t tokens) noexcept {
    const double choices = static_cast<double>(tokens) * static_cast<double>(policy.top_k);
    const double capacity =
        std::ceil(choices * static_cast<double>(*policy.capacity_factor) / static_cast<double>(expert_count));
    return static_cast<std::int64_t>(std::min(capacity, choices));
}

void apply_capacity(const RouteRules& rules, const float* logits, const RowScratch& scratch, RoutePlan& plan) noexcept {
    const std::int64_t padding = std::count(plan.scratch.states.begin(), plan.scratch.states.begin() + plan.tokens,
                                            static_cast<std::uint8_t>(RowState::padding));
    const std::int64_t capacity = expert_capacity(rules.policy, rules.expert_count, plan.tokens - padding);
    std::int64_t* const load = plan.scratch.counts.data();
    std::fill_n(load, rules.expert_count, 0);
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
        const auto at = static_cast<std::size_t>(t);
        const Token token{plan.expert_ids.data() + t * plan.choices, plan.experts_of_token[at]};
        std::int64_t kept = take_room(token, capacity, load, scratch.order);
        if (kept < token.count && rules.policy.overflow == CapacityOverflow::next_best) {
            const auto state = static_cast<RowState>(plan.scratch.states[at]);
            const std::int64_t before = kept;
            kept = take_next_best(rules, logits + t * rules.expert_count, state, scratch, token, kept, capacity, load);
            plan.counters.rerouted += kept - before;
        }
        plan.counters.dropped += token.count - kept;
        for (std::int64_t j = kept; j < token.count; ++j) token.ids[j] = dropped_choice(token.ids[j]);
    }
}

}  // namespace mixtura
