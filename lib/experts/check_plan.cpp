#include "experts/check_plan.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace mixtura {
namespace {

Status check_length(std::string_view name, std::size_t found, std::size_t expected) {
    if (found == expected) return {};
    return error(StatusCode::invalid_argument, "the route plan's ", name, " has ", found, " entries, expected ",
                 expected);
}

Status check_sizes(const RoutePlan& plan, std::int64_t expert_count) {
    if (plan.experts != expert_count) {
        return error(StatusCode::invalid_argument, "the route plan is for ", plan.experts, " experts, expected ",
                     expert_count);
    }
    const std::optional<std::int64_t> pairs = checked_multiply(plan.tokens, plan.choices);
    if (plan.tokens < 0 || plan.choices < 0 || !pairs || *pairs > std::numeric_limits<std::int32_t>::max() ||
        plan.tokens > std::numeric_limits<std::int32_t>::max()) {
        return error(StatusCode::invalid_argument, "the route plan has ", plan.tokens, " tokens of ", plan.choices,
                     " choices, expected 0 or more of each and fewer than 2^31 in all");
    }
    const auto tokens = static_cast<std::size_t>(plan.tokens), choices = static_cast<std::size_t>(*pairs);
    MIXTURA_RETURN_IF_ERROR(check_length("expert_ids", plan.expert_ids.size(), choices));
    MIXTURA_RETURN_IF_ERROR(check_length("weights", plan.weights.size(), choices));
    MIXTURA_RETURN_IF_ERROR(check_length("experts_of_token", plan.experts_of_token.size(), tokens));
    MIXTURA_RETURN_IF_ERROR(check_length("slot_of_token_choice", plan.slot_of_token_choice.size(), choices));
    return check_length("offsets", plan.offsets.size(), static_cast<std::size_t>(expert_count) + 1);
}

// offsets ascend from 0 to the number of slots; within an expert tokens ascend, so none has it twice.
Status check_slots(const RoutePlan& plan) {
    const auto slots = static_cast<std::int64_t>(plan.token_of_slot.size());
    if (plan.offsets.front() != 0 || plan.offsets.back() != slots) {
        return error(StatusCode::invalid_argument, "the route plan's offsets go from ", plan.offsets.front(), " to ",
                     plan.offsets.back(), ", expected 0 to its ", slots, " slots");
    }
    for (std::size_t e = 0; e + 1 < plan.offsets.size(); ++e) {
        const std::int64_t first = plan.offsets[e], last = plan.offsets[e + 1];
        if (first > last || last > slots) {
            return error(StatusCode::invalid_argument, "the route plan gives expert ", e, " the slots from ", first,
                         " to ", last, ", expected ascending offsets up to ", slots);
        }
        std::int64_t before = -1;
        for (std::int64_t slot = first; slot < last; ++slot) {
            const std::int64_t token = plan.token_of_slot[static_cast<std::size_t>(slot)];
            if (token <= before || token >= plan.tokens) {
                return error(StatusCode::invalid_argument, "the route plan gives slot ", slot, " of expert ", e,
                             " token ", token, ", expected one above ", before, " and below ", plan.tokens);
            }
            before = token;
        }
    }
    return {};
}

}  // namespace

Status check_plan(const RoutePlan& plan, std::int64_t expert_count, std::vector<std::uint8_t>& is_slot_seen) {
    MIXTURA_RETURN_IF_ERROR(check_sizes(plan, expert_count));
    MIXTURA_RETURN_IF_ERROR(check_slots(plan));
    const auto slots = static_cast<std::int64_t>(plan.token_of_slot.size());
    is_slot_seen.assign(static_cast<std::size_t>(slots), 0);
    std::int64_t used = 0;
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
        const std::int64_t own = plan.experts_of_token[static_cast<std::size_t>(t)];
        if (own < 0 || own > plan.choices) {
            return error(StatusCode::invalid_argument, "the route plan gives token ", t, " ", own,
                         " experts, expected 0 to ", plan.choices);
        }
        used += own;
        for (std::int64_t k = 0; k < plan.choices; ++k) {
            const auto choice = static_cast<std::size_t>(t * plan.choices + k);
            const std::int64_t id = plan.expert_ids[choice], slot = plan.slot_of_token_choice[choice];
            if (k >= own) {
                if (id == -1 && slot == -1) continue;
                return error(StatusCode::invalid_argument, "the route plan has expert ", id, " and slot ", slot,
                             " for choice ", k, " of token ", t, ", which has ", own, " experts, expected -1 and -1");
            }
            if (id < 0 || id >= expert_count) {
                return error(StatusCode::invalid_argument, "the route plan has expert ", id, " for choice ", k,
                             " of token ", t, ", expected one below ", expert_count);
            }
            const auto expert = static_cast<std::size_t>(id);
            if (slot < plan.offsets[expert] || slot >= plan.offsets[expert + 1] ||
                plan.token_of_slot[static_cast<std::size_t>(slot)] != t ||
                is_slot_seen[static_cast<std::size_t>(slot)] != 0) {
                return error(StatusCode::invalid_argument, "the route plan has slot ", slot, " for choice ", k,
                             " of token ", t, ", which is not that token's slot of expert ", id);
            }
            is_slot_seen[static_cast<std::size_t>(slot)] = 1;
        }
    }
    if (used == slots) return {};
    return error(StatusCode::invalid_argument, "the route plan has ", slots, " slots for ", used, " choices");
}

}  // namespace mixtura
