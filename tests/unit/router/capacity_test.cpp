// What happens to a choice whose expert is full.
#include <cmath>
#include <limits>

#include "unit/router/routed.hpp"

using namespace mixtura;
using test::check_weights;
using test::Counts;
using test::Floats;
using test::Ids;
using test::routed;

namespace {

const float kLog2 = std::log(2.0F);
const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a full expert's tokens go to their next best, in token order", "[router][short]") {
    const RouterPolicy policy{.capacity_factor = 1.0F};  // ceil(3 · 1 / 3) = 1
    const RoutePlan plan = routed({3, 2, 1, 3, 2, 1, 3, 2, 1}, policy, 3);
    CHECK(plan.expert_ids == Ids{0, 1, 2});
    CHECK(plan.counters.load == Counts{1, 1, 1});
    CHECK(plan.counters.rerouted == 2);
    CHECK(plan.counters.dropped == 0);
    // The weight is the new expert's own.
    const double sum = std::exp(0.0) + std::exp(-1.0) + std::exp(-2.0);
    check_weights(plan, {static_cast<float>(1 / sum), static_cast<float>(std::exp(-1.0) / sum),
                         static_cast<float>(std::exp(-2.0) / sum)});
}

TEST_CASE("a full expert's tokens are dropped where the policy says so", "[router][short]") {
    const RouterPolicy policy{.capacity_factor = 1.0F, .overflow = CapacityOverflow::drop};
    const RoutePlan plan = routed({3, 2, 1, 3, 2, 1, 3, 2, 1}, policy, 3);
    CHECK(plan.expert_ids == Ids{0, -1, -1});
    CHECK(plan.experts_of_token == Ids{1, 0, 0});
    CHECK(plan.counters.load == Counts{1, 0, 0});
    CHECK(plan.counters.dropped == 2);
    CHECK(plan.counters.rerouted == 0);
    CHECK(plan.weights[1] == 0.0F);
}

TEST_CASE("what a dropped choice weighed is lost or goes to the token's others", "[router][short]") {
    // Capacity 1.  Token 0 takes 0 and 1; token 1 wants 0, which is full, and 2.  p = 4/8, 2/8, 1/8, 1/8.
    RouterPolicy policy{.top_k = 2, .capacity_factor = 1.0F, .overflow = CapacityOverflow::drop};
    const Floats logits{2 * kLog2, kLog2, 0, 0, 2 * kLog2, 0, kLog2, 0};
    RoutePlan plan = routed(logits, policy, 4);
    CHECK(plan.expert_ids == Ids{0, 1, 2, -1});
    check_weights(plan, {0.5F, 0.25F, 0.25F, 0});
    policy.renormalise_after_drop = true;
    check_weights(routed(logits, policy, 4), {0.5F, 0.25F, 0.75F, 0});
    policy.renormalise = true;
    policy.routed_scale = 3;
    check_weights(routed(logits, policy, 4), {2, 1, 3, 0});
    policy.renormalise_after_drop = false;
    check_weights(routed(logits, policy, 4), {2, 1, 1, 0});
}

TEST_CASE("rerouted choices stand behind the kept ones, in order of score", "[router][short]") {
    // Capacity ceil(2 · 2 / 4 · 1) = 1: token 1 wants 0 (full) and 2, and gets 2 and then 3.
    const RouterPolicy policy{.top_k = 2, .renormalise = true, .capacity_factor = 1.0F};
    const RoutePlan plan = routed({9, 8, 0, 0, 3 * kLog2, 0, 2 * kLog2, kLog2}, policy, 4);
    CHECK(plan.expert_ids == Ids{0, 1, 2, 3});
    CHECK(plan.weights[2] == Approx(2.0 / 3));
    CHECK(plan.counters.rerouted == 1);
}

TEST_CASE("a choice is dropped where no expert has room that the token may have", "[router][short]") {
    RouterPolicy policy{.top_k = 2, .capacity_factor = 0.5F};  // ceil(2 · 2 / 2 / 2) = 1
    RoutePlan plan = routed({1, 0, 1, 0}, policy, 2);
    CHECK(plan.experts_of_token == Ids{2, 0});
    CHECK(plan.counters.dropped == 2);
    // Masked experts have room for nobody.
    policy = {.is_masked = {false, true}, .capacity_factor = 1.0F};
    plan = routed({1, 0, 1, 0}, policy, 2);
    CHECK(plan.expert_ids == Ids{0, -1});
    CHECK(plan.counters.dropped == 1);
    CHECK(plan.counters.rerouted == 0);
    // Nor have those of other groups.
    policy = {.group_count = 2, .groups_kept = 1, .capacity_factor = 1.0F};
    plan = routed({9, 0, 1, 0, 9, 0, 1, 0, 9, 0, 1, 0}, policy, 4);
    CHECK(plan.expert_ids == Ids{0, 1, -1});
}

TEST_CASE("rows of padding take no room and add none", "[router][short]") {
    const RouterPolicy policy{.capacity_factor = 1.0F};  // 2 tokens: ceil(2 / 2) = 1
    const RoutePlan plan = routed({1, 0, 1, 0, 1, 0, 1, 0}, policy, 2, {}, {0, 1, 0, 1});
    CHECK(plan.expert_ids == Ids{-1, 0, -1, 1});
    CHECK(plan.counters.load == Counts{1, 1});
}

TEST_CASE("a token that cannot be routed obeys the capacity too", "[router][short]") {
    const RouterPolicy policy{.top_k = 2, .capacity_factor = 1.0F};  // ceil(3 · 2 / 3) = 2
    const RoutePlan plan = routed({9, 8, 0, 9, 8, 0, kNan, 0, 0}, policy, 3);
    CHECK(plan.expert_ids == Ids{0, 1, 0, 1, 2, -1});
    CHECK(plan.counters.load == Counts{2, 2, 1});
    CHECK(plan.counters.rerouted == 1);
    CHECK(plan.counters.dropped == 1);
    CHECK(plan.weights[4] == 0.5F);
}
