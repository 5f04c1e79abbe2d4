// Routing in one line, for the router's tests.
#pragma once

#include <mixtura/router.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "support/tensors.hpp"

namespace mixtura::test {

using Ids = std::vector<std::int32_t>;
using Floats = std::vector<float>;
using Counts = std::vector<std::int64_t>;

inline RoutePlan routed(const Floats& logits, const RouterPolicy& policy, std::int64_t experts, const Floats& bias = {},
                        const std::vector<std::uint8_t>& padding = {}) {
    RoutePlan plan;
    const Status status = Router::route_logits(logits, bias, policy, experts, padding, plan);
    INFO(status.message());
    REQUIRE(status.is_ok());
    return plan;
}

// Weights within 1e-6 of `expected`.
inline void check_weights(const RoutePlan& plan, const Floats& expected) {
    REQUIRE(plan.weights.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO("weight " << i);
        CHECK(plan.weights[i] == Approx(expected[i]).margin(1e-6));
    }
}

// Everything a caller can see of two plans, bit for bit.
inline void check_same(const RoutePlan& a, const RoutePlan& b) {
    CHECK(a.expert_ids == b.expert_ids);
    CHECK(first_difference(a.weights, b.weights) == a.weights.size());
    CHECK(a.experts_of_token == b.experts_of_token);
    CHECK(a.offsets == b.offsets);
    CHECK(a.token_of_slot == b.token_of_slot);
    CHECK(a.slot_of_token_choice == b.slot_of_token_choice);
    CHECK(a.non_finite_tokens == b.non_finite_tokens);
    CHECK(a.counters.load == b.counters.load);
    CHECK(a.counters.dropped == b.counters.dropped);
    CHECK(a.counters.rerouted == b.counters.rerouted);
    CHECK(a.counters.clamped == b.counters.clamped);
    CHECK(a.counters.padding == b.counters.padding);
}

}  // namespace mixtura::test
