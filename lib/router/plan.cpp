// RoutePlan::group: slots by a stable counting sort, and the checks of a plan that somebody else wrote.
#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "router/limits.hpp"
#include "router/steps.hpp"

namespace mixtura {
namespace {

template <class... Parts>
Status refuse(const Parts&... parts) {
    return error(StatusCode::invalid_argument, "route plan: ", parts...);
}

Status check_sizes(const RoutePlan& plan, std::int64_t expert_count) {
    if (expert_count < 1 || expert_count > kRouterSizeMax) {
        return refuse(expert_count, " experts, expected 1 to ", kRouterSizeMax);
    }
    if (plan.tokens < 0 || plan.choices < 1 || plan.choices > expert_count) {
        return refuse("tokens is ", plan.tokens, " and choices is ", plan.choices, ", expected tokens from 0 and 1 to ",
                      expert_count, " choices");
    }
    const std::optional<std::int64_t> slots = checked_multiply(plan.tokens, plan.choices);
    if (!slots || *slots > kRouteSlotsMax) {
        return refuse(plan.tokens, " tokens with ", plan.choices, " choices each are more than ", kRouteSlotsMax,
                      " choices");
    }
    const auto expected = static_cast<std::size_t>(*slots);
    if (plan.expert_ids.size() != expected || plan.weights.size() != expected) {
        return refuse(plan.expert_ids.size(), " expert_ids and ", plan.weights.size(), " weights, expected ", expected,
                      " of each: tokens times choices");
    }
    return {};
}

// last_token [E], all -1: the last token that chose an expert.
Status check_token(const RoutePlan& plan, std::int64_t expert_count, std::int64_t t, std::int64_t* last_token) {
    const std::int32_t* ids = plan.expert_ids.data() + t * plan.choices;
    for (std::int64_t j = 0; j < plan.choices; ++j) {
        if (ids[j] < -1 || ids[j] >= expert_count) {
            return refuse("choice ", j, " of token ", t, " is expert ", ids[j], ", expected -1 to ", expert_count - 1);
        }
        if (ids[j] < 0) continue;
        if (j > 0 && ids[j - 1] < 0) {
            return refuse("choice ", j, " of token ", t, " is used behind an unused one");
        }
        if (last_token[ids[j]] == t) return refuse("token ", t, " has expert ", ids[j], " twice");
        last_token[ids[j]] = t;
    }
    return {};
}

}  // namespace

void group_choices(RoutePlan& plan) {
    const auto expert_count = static_cast<std::size_t>(plan.experts);
    plan.offsets.assign(expert_count + 1, 0);
    plan.slot_of_token_choice.resize(plan.expert_ids.size());
    plan.counters.load.assign(expert_count, 0);
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
        const std::int32_t* ids = plan.expert_ids.data() + t * plan.choices;
        const std::int32_t used = plan.experts_of_token[static_cast<std::size_t>(t)];
        for (std::int32_t j = 0; j < used; ++j) ++plan.counters.load[static_cast<std::size_t>(ids[j])];
    }
    for (std::size_t e = 0; e < expert_count; ++e) plan.offsets[e + 1] = plan.offsets[e] + plan.counters.load[e];
    plan.token_of_slot.resize(static_cast<std::size_t>(plan.offsets[expert_count]));
    // Where each expert's next slot is.  Tokens come in order, so a slot's order within its expert is that of tokens.
    plan.scratch.counts.assign(plan.offsets.begin(), plan.offsets.end() - 1);
    std::int64_t* const next = plan.scratch.counts.data();
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
        const std::int32_t* ids = plan.expert_ids.data() + t * plan.choices;
        std::int32_t* const slots = plan.slot_of_token_choice.data() + t * plan.choices;
        const std::int32_t used = plan.experts_of_token[static_cast<std::size_t>(t)];
        for (std::int32_t j = 0; j < used; ++j) {
            const std::int64_t slot = next[ids[j]]++;
            slots[j] = static_cast<std::int32_t>(slot);
            plan.token_of_slot[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(t);
        }
        for (std::int64_t j = used; j < plan.choices; ++j) slots[j] = -1;
    }
}

Status RoutePlan::group(std::int64_t expert_count) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check_sizes(*this, expert_count));
        scratch.counts.assign(static_cast<std::size_t>(expert_count), -1);
        for (std::int64_t t = 0; t < tokens; ++t) {
            MIXTURA_RETURN_IF_ERROR(check_token(*this, expert_count, t, scratch.counts.data()));
        }
        experts_of_token.resize(static_cast<std::size_t>(tokens));
        for (std::int64_t t = 0; t < tokens; ++t) {
            const auto first = expert_ids.begin() + t * choices;
            const auto unused = std::find(first, first + choices, -1);
            experts_of_token[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(unused - first);
        }
        experts = expert_count;
        group_choices(*this);
        return {};
    });
}

}  // namespace mixtura
