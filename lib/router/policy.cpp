// Router::check: what a policy may say.
#include <mixtura/router.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "router/limits.hpp"

namespace mixtura {
namespace {

template <class... Parts>
Status refuse(const Parts&... parts) {
    return error(StatusCode::invalid_argument, "router policy: ", parts...);
}

Status check_groups(const RouterPolicy& policy, std::int64_t expert_count) {
    if (policy.group_count < 1 || policy.group_count > expert_count || expert_count % policy.group_count != 0) {
        return refuse("group_count is ", policy.group_count, ", expected a divisor of ", expert_count, " experts");
    }
    if (policy.groups_kept < 1 || policy.groups_kept > policy.group_count) {
        return refuse("groups_kept is ", policy.groups_kept, ", expected 1 to group_count, ", policy.group_count);
    }
    const std::int64_t group_size = expert_count / policy.group_count;
    if (policy.groups_kept * group_size < policy.top_k) {
        return refuse(policy.groups_kept, " groups of ", group_size, " experts are kept, too few for a top_k of ",
                      policy.top_k);
    }
    if (policy.group_score != GroupScore::largest && policy.group_score != GroupScore::sum_of_top_two) {
        return refuse("group_score is ", static_cast<std::int32_t>(policy.group_score), ", which is none");
    }
    return {};
}

// Written so that NaN fails each of them.
bool is_finite_from_0(float value) noexcept { return value >= 0.0F && std::isfinite(value); }
bool is_finite_above_0(float value) noexcept { return value > 0.0F && std::isfinite(value); }

Status check_weights(const RouterPolicy& policy) {
    if (!is_finite_from_0(policy.renormalise_floor)) {
        return refuse("renormalise_floor is ", policy.renormalise_floor, ", expected a number from 0");
    }
    if (!is_finite_from_0(policy.renormalise_bias)) {
        return refuse("renormalise_bias is ", policy.renormalise_bias, ", expected a number from 0");
    }
    if (!std::isfinite(policy.routed_scale)) {
        return refuse("routed_scale is ", policy.routed_scale, ", expected a finite number");
    }
    if (!is_finite_from_0(policy.sparsemixer_epsilon)) {
        return refuse("sparsemixer_epsilon is ", policy.sparsemixer_epsilon, ", expected a number from 0");
    }
    return {};
}

Status check_choice(const RouterPolicy& policy, std::int64_t expert_count) {
    if (!is_finite_above_0(policy.temperature)) {
        return refuse("temperature is ", policy.temperature, ", expected a number above 0");
    }
    if (policy.logit_clamp && !is_finite_above_0(*policy.logit_clamp)) {
        return refuse("logit_clamp is ", *policy.logit_clamp, ", expected a number above 0");
    }
    if (const std::optional<float> share = policy.cumulative_probability; share && !(*share > 0.0F && *share <= 1.0F)) {
        return refuse("cumulative_probability is ", *share, ", expected a number above 0 and at most 1");
    }
    if (policy.capacity_factor && !is_finite_above_0(*policy.capacity_factor)) {
        return refuse("capacity_factor is ", *policy.capacity_factor, ", expected a number above 0");
    }
    if (policy.overflow != CapacityOverflow::next_best && policy.overflow != CapacityOverflow::drop) {
        return refuse("overflow is ", static_cast<std::int32_t>(policy.overflow), ", which is none");
    }
    if (policy.is_masked.empty()) return {};
    if (policy.is_masked.size() != static_cast<std::size_t>(expert_count)) {
        return refuse("is_masked has ", policy.is_masked.size(), " entries, expected none or ", expert_count);
    }
    if (std::find(policy.is_masked.begin(), policy.is_masked.end(), false) == policy.is_masked.end()) {
        return refuse("is_masked masks all ", expert_count, " experts");
    }
    return {};
}

}  // namespace

Status Router::check(const RouterPolicy& policy, std::int64_t expert_count) noexcept {
    return without_exceptions([&]() -> Status {
        if (expert_count < 1 || expert_count > kRouterSizeMax) {
            return error(StatusCode::invalid_argument, "a router has ", expert_count, " experts, expected 1 to ",
                         kRouterSizeMax);
        }
        if (policy.scoring < RouterScoring::softmax || policy.scoring > RouterScoring::sparsemixer) {
            return refuse("scoring is ", static_cast<std::int32_t>(policy.scoring), ", which is none");
        }
        if (policy.top_k < 1 || policy.top_k > expert_count) {
            return refuse("top_k is ", policy.top_k, ", expected 1 to ", expert_count, ", the number of experts");
        }
        MIXTURA_RETURN_IF_ERROR(check_groups(policy, expert_count));
        MIXTURA_RETURN_IF_ERROR(check_weights(policy));
        return check_choice(policy, expert_count);
    });
}

}  // namespace mixtura
