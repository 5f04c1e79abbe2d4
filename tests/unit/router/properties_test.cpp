// What holds for every policy and every load, over random ones that are full of ties, gaps and rows of trouble.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/backend.hpp"
#include "parallel/thread_pool.hpp"
#include "router/route.hpp"
#include "support/weights.hpp"
#include "unit/router/routed.hpp"

using namespace mixtura;
using test::Floats;
using test::Ids;

namespace {

struct Load {
    std::int64_t experts = 0, tokens = 0;
    RouterPolicy policy;
    Floats logits, bias;
    std::vector<std::uint8_t> padding;
};

Load random_load(std::uint64_t seed) {
    test::Random random(seed);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random.bits() >> 8) % n; };
    const auto happens = [&](std::int64_t one_in) { return below(one_in) == 0; };
    Load load;
    const std::int64_t groups = happens(2) ? 1 : 2 + below(4);
    load.experts = groups * (1 + below(12));
    load.tokens = below(200);
    RouterPolicy& policy = load.policy;
    policy.scoring = static_cast<RouterScoring>(below(4));
    policy.group_count = groups;
    policy.groups_kept = 1 + below(groups);
    policy.group_score = static_cast<GroupScore>(below(2));
    policy.top_k = 1 + below(policy.groups_kept * (load.experts / groups));
    policy.renormalise = happens(2);
    policy.routed_scale = happens(3) ? 2.5F : 1.0F;
    if (happens(4)) policy.temperature = 0.3F;
    if (happens(4)) policy.logit_clamp = 1.5F;
    if (happens(4)) policy.cumulative_probability = 0.7F;
    if (happens(3)) {
        policy.is_masked.resize(static_cast<std::size_t>(load.experts));
        for (std::size_t e = 1; e < policy.is_masked.size(); ++e) policy.is_masked[e] = happens(3);
    }
    load.logits.resize(static_cast<std::size_t>(load.tokens * load.experts));
    const bool is_coarse = happens(2);
    for (float& x : load.logits) x = is_coarse ? std::round(random.gaussian() * 3) : random.gaussian() * 3;
    for (std::int64_t t = 0; t < load.tokens; ++t) {
        if (happens(20)) {
            load.logits[static_cast<std::size_t>(t * load.experts + below(load.experts))] =
                happens(2) ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
        }
    }
    if (happens(2)) {
        for (std::int64_t e = 0; e < load.experts; ++e) load.bias.push_back(random.gaussian());
    }
    if (happens(3)) {
        for (std::int64_t t = 0; t < load.tokens; ++t) load.padding.push_back(happens(4) ? 0 : 1);
    }
    return load;
}

RoutePlan routed(const Load& load) {
    return test::routed(load.logits, load.policy, load.experts, load.bias, load.padding);
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// 0 to K experts a token, each once, used ones first, none masked; weights are numbers; the grouped view is of these.
void check_plan(const Load& load, const RoutePlan& plan) {
    REQUIRE(plan.tokens == load.tokens);
    REQUIRE(plan.experts == load.experts);
    REQUIRE(plan.choices == load.policy.top_k);
    RoutePlan again = plan;
    REQUIRE(again.group(load.experts).is_ok());
    test::check_same(again, plan);
    CHECK(sum(plan.counters.load) == static_cast<std::int64_t>(plan.token_of_slot.size()));
    CHECK(plan.counters.load == again.counters.load);
    CHECK(plan.counters.non_finite == static_cast<std::int64_t>(plan.non_finite_tokens.size()));
    CHECK(plan.counters.padding == std::count(load.padding.begin(), load.padding.end(), 0));
    for (std::size_t i = 0; i < plan.expert_ids.size(); ++i) {
        const std::int32_t e = plan.expert_ids[i];
        REQUIRE(std::isfinite(plan.weights[i]));
        REQUIRE(plan.weights[i] >= 0.0F);
        if (e < 0) {
            REQUIRE(plan.weights[i] == 0.0F);
        } else {
            REQUIRE((load.policy.is_masked.empty() || !load.policy.is_masked[static_cast<std::size_t>(e)]));
            REQUIRE(plan.token_of_slot[static_cast<std::size_t>(plan.slot_of_token_choice[i])] ==
                    static_cast<std::int32_t>(i / static_cast<std::size_t>(plan.choices)));
        }
    }
}

Load permuted(const Load& load, const std::vector<std::size_t>& order) {
    Load moved = load;
    const auto experts = static_cast<std::size_t>(load.experts);
    for (std::size_t t = 0; t < order.size(); ++t) {
        std::copy_n(load.logits.data() + order[t] * experts, experts, moved.logits.data() + t * experts);
        if (!load.padding.empty()) moved.padding[t] = load.padding[order[t]];
    }
    return moved;
}

std::vector<std::size_t> random_order(std::int64_t tokens, std::uint64_t seed) {
    test::Random random(seed);
    std::vector<std::size_t> order(static_cast<std::size_t>(tokens));
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits() % i]);
    return order;
}

}  // namespace

TEST_CASE("every policy gives a sound plan for every load", "[router][short]") {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        INFO("seed " << seed);
        const Load load = random_load(seed);
        check_plan(load, routed(load));
    }
}

TEST_CASE("permuting tokens permutes their experts and weights and nothing else", "[router][short]") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        const Load load = random_load(seed);
        const std::vector<std::size_t> order = random_order(load.tokens, seed);
        const RoutePlan plan = routed(load), moved = routed(permuted(load, order));
        const auto choices = static_cast<std::size_t>(plan.choices);
        for (std::size_t t = 0; t < order.size(); ++t) {
            for (std::size_t j = 0; j < choices; ++j) {
                REQUIRE(moved.expert_ids[t * choices + j] == plan.expert_ids[order[t] * choices + j]);
                REQUIRE(test::same_bits(moved.weights[t * choices + j], plan.weights[order[t] * choices + j]));
            }
        }
        CHECK(moved.counters.load == plan.counters.load);
        CHECK(moved.counters.clamped == plan.counters.clamped);
        CHECK(moved.counters.non_finite == plan.counters.non_finite);
    }
}

TEST_CASE("no expert takes more than its capacity and no choice is lost from the counts", "[router][short]") {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        INFO("seed " << seed);
        Load load = random_load(seed);
        const RoutePlan unlimited = routed(load);
        load.policy.capacity_factor = seed % 3 == 0 ? 0.5F : seed % 3 == 1 ? 1.0F : 1.25F;
        load.policy.overflow = seed % 2 == 0 ? CapacityOverflow::next_best : CapacityOverflow::drop;
        load.policy.renormalise_after_drop = seed % 5 == 0;
        const RoutePlan plan = routed(load);
        check_plan(load, plan);
        const auto real_tokens = static_cast<double>(load.tokens - plan.counters.padding);
        const double capacity =
            std::ceil(real_tokens * static_cast<double>(load.policy.top_k) *
                      static_cast<double>(*load.policy.capacity_factor) / static_cast<double>(load.experts));
        for (const std::int64_t choices : plan.counters.load) REQUIRE(static_cast<double>(choices) <= capacity);
        CHECK(sum(plan.counters.load) + plan.counters.dropped == sum(unlimited.counters.load));
        if (load.policy.overflow == CapacityOverflow::drop) {
            CHECK(plan.counters.rerouted == 0);
            // Whoever comes first, each expert takes as many as want it, up to its capacity.
            const RoutePlan moved = routed(permuted(load, random_order(load.tokens, seed)));
            CHECK(moved.counters.load == plan.counters.load);
            CHECK(moved.counters.dropped == plan.counters.dropped);
        }
    }
}

TEST_CASE("with one expert a token and room for all, permuting tokens keeps the counts of next best too",
          "[router][short]") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Load load = random_load(seed);
        load.policy.top_k = 1;
        load.policy.group_count = load.policy.groups_kept = 1;
        load.policy.is_masked.clear();
        load.policy.capacity_factor = 1.0F;
        const RoutePlan plan = routed(load), moved = routed(permuted(load, random_order(load.tokens, seed)));
        CHECK(plan.counters.dropped == 0);
        CHECK(moved.counters.dropped == 0);
        CHECK(sum(plan.counters.load) == sum(moved.counters.load));
    }
}

TEST_CASE("one to three threads and every back-end give the same plan, bit for bit", "[router][short]") {
    std::vector<std::unique_ptr<ThreadPool>> pools;
    for (int threads = 1; threads <= 3; ++threads) {
        auto pool = ThreadPool::create(threads);
        REQUIRE(pool);
        pools.push_back(*std::move(pool));
    }
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        INFO("seed " << seed);
        Load load = random_load(seed);
        while (load.tokens * load.experts < 3 * 64 * 128 && load.tokens > 0) {  // enough for threads to share
            const Floats more = load.logits;
            load.logits.insert(load.logits.end(), more.begin(), more.end());
            const std::vector<std::uint8_t> padding = load.padding;
            load.padding.insert(load.padding.end(), padding.begin(), padding.end());
            load.tokens *= 2;
        }
        if (seed % 2 == 1) load.policy.capacity_factor = 1.1F;
        const RoutePlan expected = routed(load);
        RoutePlan plan;  // used again and again
        for (const Backend& backend : backends()) {
            if (!backend.is_supported) continue;
            for (const auto& pool : pools) {
                INFO(backend.name << ", " << pool->thread_count() << " threads");
                Floats logits = load.logits;
                REQUIRE(choose_experts(*backend.table, *pool, load.policy, load.experts,
                                       load.bias.empty() ? nullptr : load.bias.data(), logits.data(), load.tokens,
                                       load.padding, plan)
                            .is_ok());
                test::check_same(plan, expected);
            }
        }
    }
}
