// Each rule that chooses and weighs, against answers computed by hand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/weights.hpp"
#include "unit/router/routed.hpp"

using namespace mixtura;
using test::check_weights;
using test::Counts;
using test::Floats;
using test::Ids;
using test::routed;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kLog2 = std::log(2.0F);

const Floats kEighths{0, kLog2, 2 * kLog2, 0};  // softmax: 1/8, 2/8, 4/8, 1/8

}  // namespace

TEST_CASE("softmax weighs by the probability among all experts, or among the chosen", "[router][short]") {
    RouterPolicy policy{.top_k = 2};
    RoutePlan plan = routed(kEighths, policy, 4);
    CHECK(plan.expert_ids == Ids{2, 1});
    check_weights(plan, {0.5F, 0.25F});

    policy.renormalise = true;
    check_weights(routed(kEighths, policy, 4), {2.0F / 3, 1.0F / 3});
    policy.routed_scale = 2.5F;
    check_weights(routed(kEighths, policy, 4), {2.5F * 2 / 3, 2.5F / 3});
    policy.routed_scale = 1.0F;
    policy.renormalise_floor = 1.5F;
    check_weights(routed(kEighths, policy, 4), {0.5F / 1.5F, 0.25F / 1.5F});
    policy.renormalise_floor = 0.5F;
    policy.renormalise_bias = 0.25F;
    check_weights(routed(kEighths, policy, 4), {0.5F, 0.25F});

    check_weights(routed(kEighths, {.scoring = RouterScoring::softmax_of_chosen, .top_k = 2}, 4), {2.0F / 3, 1.0F / 3});
    check_weights(routed(kEighths, {.scoring = RouterScoring::softmax_of_chosen, .top_k = 2, .routed_scale = -3}, 4),
                  {-2, -1});
}

TEST_CASE("a selection bias chooses and never weighs", "[router][short]") {
    const RoutePlan plan = routed(kEighths, {.top_k = 2}, 4, {0, 0, -1, 0.5F});
    CHECK(plan.expert_ids == Ids{3, 1});
    check_weights(plan, {0.125F, 0.25F});
    // Also where the choice is by logit.
    const RoutePlan chosen =
        routed(kEighths, {.scoring = RouterScoring::softmax_of_chosen, .top_k = 2}, 4, {0, 0, -9, 9});
    CHECK(chosen.expert_ids == Ids{3, 1});
    check_weights(chosen, {1.0F / 3, 2.0F / 3});
}

TEST_CASE("equal scores go to the lower expert id", "[router][short]") {
    CHECK(routed({1, 2, 2, 2, 0}, {.top_k = 2}, 5).expert_ids == Ids{1, 2});
    CHECK(routed({0.0F, -0.0F, 0.0F}, {.top_k = 3}, 3).expert_ids == Ids{0, 1, 2});
    const Floats equal(100, 0.25F);
    Ids first(50);
    std::iota(first.begin(), first.end(), 0);
    CHECK(routed(equal, {.top_k = 50}, 100).expert_ids == first);
    // Groups too.
    CHECK(routed({1, 5, 5, 1}, {.top_k = 2, .group_count = 2, .groups_kept = 1}, 4).expert_ids == Ids{1, 0});
}

TEST_CASE("where f32 makes equal scores of unequal logits the larger logit is better", "[router][short]") {
    CHECK(routed({20, 30, 25}, {.scoring = RouterScoring::sigmoid, .top_k = 2}, 3).expert_ids == Ids{1, 2});
    CHECK(routed({-300, -200, 50}, {.top_k = 3}, 3).expert_ids == Ids{2, 1, 0});
}

TEST_CASE("experts outside the best groups are never chosen, however negative the biases", "[router][short]") {
    // Sigmoid 0.5 each; keys -2.5 -3 | -1.5 -3.5, sums -5.5 and -5.
    RouterPolicy policy{.scoring = RouterScoring::sigmoid, .top_k = 2, .group_count = 2, .groups_kept = 1};
    policy.group_score = GroupScore::sum_of_top_two;
    RoutePlan plan = routed({0, 0, 0, 0}, policy, 4, {-3, -3.5F, -2, -4});
    CHECK(plan.expert_ids == Ids{2, 3});
    check_weights(plan, {0.5F, 0.5F});
    // Keys -2.5 -3 | -1.5 -4.5: the sum is better on the left, the largest on the right.
    CHECK(routed({0, 0, 0, 0}, policy, 4, {-3, -3.5F, -2, -5}).expert_ids == Ids{0, 1});
    policy.group_score = GroupScore::largest;
    CHECK(routed({0, 0, 0, 0}, policy, 4, {-3, -3.5F, -2, -5}).expert_ids == Ids{2, 3});
    // A masked expert adds nothing to its group.
    policy.group_score = GroupScore::sum_of_top_two;
    policy.is_masked = {false, false, false, true};
    plan = routed({0, 0, 0, 0}, policy, 4, {-3, -3.5F, -2, -5});
    CHECK(plan.expert_ids == Ids{2, -1});
    CHECK(plan.experts_of_token == Ids{1});
    // Without a bias, by the sums of the sigmoids.
    policy.is_masked = {};
    CHECK(routed({0, 0, 9, -8}, policy, 4).expert_ids == Ids{2, 3});
    CHECK(routed({1, 1, 9, -9}, policy, 4).expert_ids == Ids{0, 1});
}

TEST_CASE("a score lost in a large bias is a tie, and still the weight", "[router][short]") {
    RouterPolicy policy{.scoring = RouterScoring::sigmoid, .top_k = 2, .renormalise = true};
    RoutePlan plan = routed({-80, -81, 5, -80}, policy, 4, {0, 12, 0, 12});
    CHECK(plan.expert_ids == Ids{1, 3});
    check_weights(plan, {1 / (1 + std::exp(1.0F)), 1 / (1 + std::exp(-1.0F))});
    policy.renormalise_bias = 1e-20F;  // dwarfs both
    plan = routed({-80, -81, 5, -80}, policy, 4, {0, 12, 0, 12});
    CHECK(plan.weights[0] == Approx(std::exp(-81.0) / 1e-20).epsilon(1e-5));
    // Sigmoids that are 0 share equally where there is nothing else to divide by.
    policy.renormalise_bias = 0;
    check_weights(routed({-200, -200, 5, -200}, policy, 4, {0, 12, 0, 12}), {0.5F, 0.5F});
    policy.renormalise_bias = 1e-20F;
    check_weights(routed({-200, -200, 5, -200}, policy, 4, {0, 12, 0, 12}), {0, 0});
}

TEST_CASE("a token without finite logits gets the first experts in equal parts, and is counted", "[router][short]") {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
        for (const RouterScoring scoring : {RouterScoring::softmax, RouterScoring::sigmoid,
                                            RouterScoring::softmax_of_chosen, RouterScoring::sparsemixer}) {
            const RoutePlan plan = routed({0, 1, 2, bad, 0, 1, 0, 1, 2}, {.scoring = scoring, .top_k = 2}, 3);
            CHECK(plan.expert_ids == Ids{2, 1, 0, 1, 2, 1});
            CHECK(plan.weights[2] == 0.5F);
            CHECK(plan.weights[3] == 0.5F);
            CHECK(plan.weights[4] == plan.weights[0]);
            CHECK(plan.non_finite_tokens == Counts{1});
            CHECK(plan.counters.non_finite == 1);
        }
    }
    // A logit that the clamp would hide, one that the temperature makes infinite, one of a masked expert.
    CHECK(routed({kInfinity, 0}, {.logit_clamp = 5.0F}, 2).counters.non_finite == 1);
    CHECK(routed({3e38F, 0}, {.temperature = 0.5F}, 2).counters.non_finite == 1);
    const RoutePlan plan = routed({kNan, 0, 0}, {.top_k = 2, .is_masked = {true, false, false}}, 3);
    CHECK(plan.expert_ids == Ids{1, 2});
    // Finite, but far apart.
    CHECK(routed({3e38F, -3e38F}, {.top_k = 2}, 2).weights == Floats{1, 0});
    // Biases that leave nothing to choose.
    const RoutePlan none = routed({1, 2, 3}, {.top_k = 2}, 3, {-kInfinity, kNan, -kInfinity});
    CHECK(none.expert_ids == Ids{0, 1});
    CHECK(none.counters.non_finite == 1);
    CHECK(routed({1, 2, 3}, {.top_k = 2}, 3, {0, kNan, 0}).expert_ids == Ids{2, 0});
}

TEST_CASE("masked experts are as though they were not there", "[router][short]") {
    const RoutePlan plan = routed(kEighths, {.top_k = 3, .is_masked = {false, false, true, false}}, 4);
    CHECK(plan.expert_ids == Ids{1, 0, 3});
    check_weights(plan, {0.5F, 0.25F, 0.25F});
    const RoutePlan one = routed(kEighths, {.top_k = 3, .is_masked = {true, true, true, false}}, 4);
    CHECK(one.expert_ids == Ids{3, -1, -1});
    check_weights(one, {1, 0, 0});
    CHECK(one.slot_of_token_choice == Ids{0, -1, -1});
}

TEST_CASE("one expert takes every token", "[router][short]") {
    const RoutePlan plan = routed({-7, 0, 7}, {}, 1);
    CHECK(plan.expert_ids == Ids{0, 0, 0});
    CHECK(plan.weights == Floats{1, 1, 1});
    CHECK(plan.offsets == Counts{0, 3});
    check_weights(routed({0}, {.scoring = RouterScoring::sigmoid}, 1), {0.5F});
    CHECK(routed({}, {}, 1).tokens == 0);
}

TEST_CASE("many experts are chosen as a full sort would", "[router][short]") {
    test::Random random(3);
    for (const std::int64_t experts : {33, 257, 1024}) {
        for (const std::int64_t top_k :
             {std::int64_t{1}, std::int64_t{8}, std::int64_t{32}, std::int64_t{33}, experts}) {
            Floats logits(static_cast<std::size_t>(experts));
            for (float& x : logits) x = std::round(random.gaussian() * 16) / 4;  // plenty of ties
            Ids expected(static_cast<std::size_t>(experts));
            std::iota(expected.begin(), expected.end(), 0);
            std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
                return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
            });
            expected.resize(static_cast<std::size_t>(top_k));
            CHECK(routed(logits, {.top_k = top_k}, experts).expert_ids == expected);
        }
    }
}

TEST_CASE("a share of the probability takes only the experts it needs", "[router][short]") {
    RouterPolicy policy{.top_k = 3, .renormalise = true, .cumulative_probability = 0.499F};
    CHECK(routed(kEighths, policy, 4).expert_ids == Ids{2, -1, -1});
    check_weights(routed(kEighths, policy, 4), {1, 0, 0});
    policy.cumulative_probability = 0.51F;
    CHECK(routed(kEighths, policy, 4).expert_ids == Ids{2, 1, -1});
    check_weights(routed(kEighths, policy, 4), {2.0F / 3, 1.0F / 3, 0});
    policy.cumulative_probability = 1.0F;
    CHECK(routed(kEighths, policy, 4).expert_ids == Ids{2, 1, 0});
    policy.cumulative_probability = 1e-9F;
    CHECK(routed(kEighths, policy, 4).experts_of_token == Ids{1});
    // The share is of the softmax whatever the weights are.
    for (const RouterScoring scoring :
         {RouterScoring::sigmoid, RouterScoring::softmax_of_chosen, RouterScoring::sparsemixer}) {
        CHECK(routed(kEighths, {.scoring = scoring, .top_k = 3, .cumulative_probability = 0.7F}, 4).expert_ids ==
              Ids{2, 1, -1});
    }
}

TEST_CASE("clamp and temperature change logits in that order, and what is clamped is counted", "[router][short]") {
    const RouterPolicy policy{.top_k = 3, .temperature = 2.0F, .logit_clamp = 10.0F};
    const RoutePlan plan = routed({20, -15, 3, 10, -10, 9}, policy, 3);
    const double sum = std::exp(5.0) + std::exp(-5.0) + std::exp(1.5);
    CHECK(plan.counters.clamped == 2);
    CHECK(plan.expert_ids == Ids{0, 2, 1, 0, 2, 1});
    CHECK(plan.weights[0] == Approx(std::exp(5.0) / sum).epsilon(1e-6));
    CHECK(plan.weights[1] == Approx(std::exp(1.5) / sum).epsilon(1e-6));
    CHECK(plan.weights[2] == Approx(std::exp(-5.0) / sum).epsilon(1e-6));
}

TEST_CASE("sparsemixer weighs a choice against what is close to it and not yet chosen", "[router][short]") {
    RouterPolicy policy{.scoring = RouterScoring::sparsemixer, .top_k = 3};
    const auto share = [](double x) { return static_cast<float>(1 / (1 + std::exp(-x))); };
    // 0.99 is within 2% of 1, 0.5 is not; alone in the second and third round.
    RoutePlan plan = routed({0.5F, 1.0F, 0.99F}, policy, 3);
    CHECK(plan.expert_ids == Ids{1, 2, 0});
    check_weights(plan, {share(0.01), 1, 1});
    // 0.975 is not within 2% of 1 but is of 0.99.
    plan = routed({0.975F, 1.0F, 0.99F}, policy, 3);
    check_weights(plan, {share(0.01), share(0.015), 1});
    // Below 0 the distance is relative to the other logit: 0.0204 / 1.0204 is within 0.02, 0.0205 / 1.0205 is not.
    plan = routed({-1.0F, -1.0204F, -2.0F}, policy, 3);
    check_weights(plan, {share(0.0204), 1, 1});
    check_weights(routed({-1.0F, -1.0205F, -2.0F}, policy, 3), {1, 1, 1});
    // 0 / 0 is close.
    check_weights(routed({0, 0, 0}, policy, 3), {1.0F / 3, 0.5F, 1});
    // Masked experts do not compete.
    policy.is_masked = {false, true, false};
    check_weights(routed({0.5F, 1.0F, 0.99F}, policy, 3), {1, 1, 0});
}

TEST_CASE("rows of padding are routed nowhere and counted as nothing else", "[router][short]") {
    const RoutePlan plan = routed({0, 1, kNan, kNan, 20, 0}, {.top_k = 2, .logit_clamp = 10.0F}, 2, {}, {1, 0, 1});
    CHECK(plan.expert_ids == Ids{1, 0, -1, -1, 0, 1});
    CHECK(plan.experts_of_token == Ids{2, 0, 2});
    CHECK(plan.weights[2] == 0.0F);
    CHECK(plan.counters.padding == 1);
    CHECK(plan.counters.non_finite == 0);
    CHECK(plan.counters.clamped == 1);
    CHECK(plan.counters.load == Counts{2, 2});
    CHECK(plan.token_of_slot == Ids{0, 2, 0, 2});
    CHECK(plan.slot_of_token_choice == Ids{2, 0, -1, -1, 1, 3});
}
