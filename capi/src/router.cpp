#include "convert.hpp"

namespace mixtura::capi {
namespace {

std::optional<float> if_on(float value) { return value == 0.0F ? std::nullopt : std::optional<float>(value); }

// A tensor of one of the types a router takes, dense; no data where there is none.
RouterTensor tensor_from(const mixtura_tensor* tensor, std::initializer_list<std::int64_t> shape, const char* name,
                         std::vector<std::byte>& storage) {
    if (tensor == nullptr) return {};
    return {dense_rows(*tensor, {shape.begin(), shape.size()}, name, storage), static_cast<DType>(tensor->dtype)};
}

}  // namespace

RouterPolicy policy_from(const mixtura_router_policy& policy) {
    RouterPolicy ours;
    ours.scoring = enum_of(policy.scoring, RouterScoring::sparsemixer, "policy.scoring");
    ours.top_k = policy.top_k;
    ours.renormalise = policy.renormalise != 0;
    ours.renormalise_floor = policy.renormalise_floor;
    ours.renormalise_bias = policy.renormalise_bias;
    ours.routed_scale = policy.routed_scale;
    ours.group_count = policy.group_count;
    ours.groups_kept = policy.groups_kept;
    ours.group_score = enum_of(policy.group_score, GroupScore::sum_of_top_two, "policy.group_score");
    ours.sparsemixer_epsilon = policy.sparsemixer_epsilon;
    ours.temperature = policy.temperature;
    ours.logit_clamp = if_on(policy.logit_clamp);
    ours.cumulative_probability = if_on(policy.cumulative_probability);
    for (const std::uint8_t masked : array(policy.is_masked, policy.is_masked_count, "policy.is_masked"))
        ours.is_masked.push_back(masked != 0);
    ours.capacity_factor = if_on(policy.capacity_factor);
    ours.overflow = enum_of(policy.overflow, CapacityOverflow::drop, "policy.overflow");
    ours.renormalise_after_drop = policy.renormalise_after_drop != 0;
    return ours;
}

mixtura_route_view view_of(const RoutePlan& plan) {
    mixtura_route_view out = MIXTURA_ROUTE_VIEW_INIT;
    out.token_count = plan.tokens;
    out.choice_count = plan.choices;
    out.expert_count = plan.experts;
    out.slot_count = static_cast<std::int64_t>(plan.token_of_slot.size());
    out.expert_ids = plan.expert_ids.data();
    out.weights = plan.weights.data();
    out.experts_of_token = plan.experts_of_token.data();
    out.offsets = plan.offsets.data();
    out.token_of_slot = plan.token_of_slot.data();
    out.slot_of_token_choice = plan.slot_of_token_choice.data();
    out.load = plan.counters.load.data();
    out.dropped = plan.counters.dropped;
    out.rerouted = plan.counters.rerouted;
    out.clamped = plan.counters.clamped;
    out.non_finite = plan.counters.non_finite;
    out.padding = plan.counters.padding;
    return out;
}

mixtura_router_policy policy_to(const RouterPolicy& found, const std::vector<std::uint8_t>& mask) {
    mixtura_router_policy out = MIXTURA_ROUTER_POLICY_INIT;
    out.top_k = found.top_k;
    out.group_count = found.group_count;
    out.groups_kept = found.groups_kept;
    out.is_masked_count = mask.size();
    out.is_masked = mask.empty() ? nullptr : mask.data();
    out.scoring = static_cast<std::int32_t>(found.scoring);
    out.group_score = static_cast<std::int32_t>(found.group_score);
    out.overflow = static_cast<std::int32_t>(found.overflow);
    out.routed_scale = found.routed_scale;
    out.temperature = found.temperature;
    out.renormalise_floor = found.renormalise_floor;
    out.renormalise_bias = found.renormalise_bias;
    out.sparsemixer_epsilon = found.sparsemixer_epsilon;
    out.logit_clamp = found.logit_clamp.value_or(0.0F);
    out.cumulative_probability = found.cumulative_probability.value_or(0.0F);
    out.capacity_factor = found.capacity_factor.value_or(0.0F);
    out.renormalise = found.renormalise;
    out.renormalise_after_drop = found.renormalise_after_drop;
    return out;
}

}  // namespace mixtura::capi

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

const mixtura::Router& of(const mixtura_router* router) { return *given(router, "router").router; }

// Rows of a matrix that the caller gave with the number of its rows alone.
template <class T>
std::span<T> rows(T* values, std::size_t count, std::int64_t width, const char* name) {
    const auto wide = static_cast<std::size_t>(width);
    if (width <= 0 || count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T) / wide)
        fail(StatusCode::invalid_argument, std::string(name) + " has an impossible size");
    return array(values, count * wide, name);
}

mixtura::RouterPolicy policy_or(const mixtura_router_policy* policy, const mixtura::RouterPolicy& otherwise) {
    if (policy == nullptr) return otherwise;
    const mixtura_router_policy defaults = MIXTURA_ROUTER_POLICY_INIT;
    return policy_from(options_of(policy, defaults, "policy"));
}

std::span<const std::uint8_t> padding(const std::uint8_t* mask, std::size_t token_count) {
    return mask == nullptr ? std::span<const std::uint8_t>() : std::span(mask, token_count);
}

}  // namespace

extern "C" {

mixtura_status mixtura_router_create(const mixtura_router_spec* spec, mixtura_router** router) noexcept {
    return guard([&] {
        given(router, "router");
        const mixtura_router_spec defaults = MIXTURA_ROUTER_SPEC_INIT;
        const mixtura_router_spec wanted = options_of(&given(spec, "spec"), defaults, "spec");
        mixtura::RouterSpec ours;
        ours.hidden_size = wanted.hidden_size;
        ours.expert_count = wanted.expert_count;
        ours.gate_width = wanted.gate_width;
        ours.is_inner_relu = wanted.is_inner_silu == 0;
        ours.policy = policy_or(wanted.policy, {});
        const std::int64_t inner = wanted.gate_width > 0 ? wanted.gate_width : wanted.hidden_size;
        std::vector<std::byte> storage[4];
        mixtura::RouterWeights weights;
        weights.gate = tensor_from(wanted.gate, {wanted.expert_count, inner}, "spec.gate", storage[0]);
        weights.inner_gate = tensor_from(wanted.inner_gate, {inner, wanted.hidden_size}, "spec.inner_gate", storage[1]);
        weights.gate_bias = tensor_from(wanted.gate_bias, {wanted.expert_count}, "spec.gate_bias", storage[2]);
        weights.selection_bias =
            tensor_from(wanted.selection_bias, {wanted.expert_count}, "spec.selection_bias", storage[3]);
        auto made = std::make_unique<mixtura_router>();
        made->own = take(mixtura::Router::create(weights, ours));
        made->router = &*made->own;
        const std::vector<bool>& masked = made->own->policy().is_masked;
        made->mask.assign(masked.begin(), masked.end());
        *router = made.release();
    });
}

void mixtura_router_destroy(mixtura_router* router) noexcept {
    if (router != nullptr && router->own) delete router;
}

mixtura_status mixtura_router_get_policy(const mixtura_router* router, mixtura_router_policy* policy) noexcept {
    return guard([&] { give(policy, policy_to(of(router).policy(), router->mask), "policy"); });
}

int64_t mixtura_router_expert_count(const mixtura_router* router) noexcept {
    return router == nullptr ? 0 : router->router->spec().expert_count;
}

int64_t mixtura_router_hidden_size(const mixtura_router* router) noexcept {
    return router == nullptr ? 0 : router->router->spec().hidden_size;
}

mixtura_status mixtura_router_route(const mixtura_router* router, const float* hidden, size_t token_count,
                                    const mixtura_router_policy* policy, const uint8_t* padding_mask,
                                    mixtura_route_plan* plan) noexcept {
    return guard([&] {
        const mixtura::Router& r = of(router);
        check(r.route(rows(hidden, token_count, r.spec().hidden_size, "hidden"), policy_or(policy, r.policy()),
                      padding(padding_mask, token_count), given(plan, "plan").plan));
    });
}

mixtura_status mixtura_router_logits(const mixtura_router* router, const float* hidden, size_t token_count,
                                     float* logits) noexcept {
    return guard([&] {
        const mixtura::Router& r = of(router);
        check(r.logits(rows(hidden, token_count, r.spec().hidden_size, "hidden"),
                       rows(logits, token_count, r.spec().expert_count, "logits")));
    });
}

mixtura_status mixtura_route_logits(const float* logits, size_t token_count, int64_t expert_count,
                                    const float* selection_bias, const mixtura_router_policy* policy,
                                    const uint8_t* padding_mask, mixtura_route_plan* plan) noexcept {
    return guard([&] {
        const auto given_logits = rows(logits, token_count, expert_count, "logits");
        const std::span<const float> bias(selection_bias,
                                          selection_bias == nullptr ? 0 : static_cast<std::size_t>(expert_count));
        check(mixtura::Router::route_logits(given_logits, bias, policy_or(policy, {}), expert_count,
                                            padding(padding_mask, token_count), given(plan, "plan").plan));
    });
}

mixtura_status mixtura_route_plan_create(mixtura_route_plan** plan) noexcept {
    return guard([&] { give_handle(plan); });
}

void mixtura_route_plan_destroy(mixtura_route_plan* plan) noexcept { delete plan; }

mixtura_status mixtura_route_plan_view(const mixtura_route_plan* plan, mixtura_route_view* view) noexcept {
    return guard([&] { give(view, view_of(given(plan, "plan").plan), "view"); });
}

mixtura_status mixtura_route_plan_set(mixtura_route_plan* plan, size_t token_count, size_t choice_count,
                                      int64_t expert_count, const int32_t* expert_ids, const float* weights) noexcept {
    return guard([&] {
        mixtura::RoutePlan fresh;
        const auto choices = static_cast<std::int64_t>(choice_count);
        const auto ids = rows(expert_ids, token_count, choices, "expert_ids");
        const auto shares = rows(weights, token_count, choices, "weights");
        fresh.tokens = static_cast<std::int64_t>(token_count);
        fresh.choices = choices;
        fresh.expert_ids.assign(ids.begin(), ids.end());
        fresh.weights.assign(shares.begin(), shares.end());
        check(fresh.group(expert_count));
        given(plan, "plan").plan = std::move(fresh);
    });
}

}  // extern "C"
