#include <catch2/catch.hpp>
#include <cmath>

#include "cli/compare_measures.hpp"
#include "cli/compare_side.hpp"

using namespace mixtura;
using namespace mixtura::cli;

namespace {

const LogitDistance& all_of(const LogitComparison& comparison) { return comparison.ranges().back(); }

std::string message_of(std::string_view side) { return std::string(parse_side(side, "model").status().message()); }

}  // namespace

TEST_CASE("logits that are the same bits lie at distance zero", "[examples][short]") {
    LogitComparison comparison;
    const std::vector<float> logits = {1.0F, -2.0F, 0.5F};
    comparison.add(0, logits, logits, 2);
    CHECK(comparison.are_bits_equal());
    CHECK_FALSE(comparison.first_difference());
    CHECK(all_of(comparison).divergence_sum == 0.0);
    CHECK(all_of(comparison).same_top == 1);
}

TEST_CASE("a divergence is that of the two distributions, whatever is added to all logits", "[examples][short]") {
    // p = (3/4, 1/4), q = (1/2, 1/2): KL = 3/4 ln(3/2) + 1/4 ln(1/2).
    LogitComparison comparison;
    const float three = std::log(3.0F);
    comparison.add(0, std::vector<float>{three + 50.0F, 50.0F}, std::vector<float>{-7.0F, -7.0F}, 1);
    const LogitDistance& found = all_of(comparison);
    CHECK(found.divergence_sum == Approx(0.75 * std::log(1.5) + 0.25 * std::log(0.5)).epsilon(1e-5));
    CHECK(found.loss_a == Approx(std::log(4.0)).epsilon(1e-5));
    CHECK(found.loss_b == Approx(std::log(2.0)).epsilon(1e-6));
    CHECK_FALSE(comparison.are_bits_equal());
}

TEST_CASE("positions are counted in their range and in all", "[examples][short]") {
    LogitComparison comparison;
    const std::vector<float> a = {0.0F, 1.0F}, b = {1.0F, 0.0F};
    for (const std::int64_t position : {0, 31, 32, 127, 128, 511, 512, 2047, 2048, 100000})
        comparison.add(position, a, position < 128 ? a : b, std::nullopt);
    for (std::size_t r = 0; r < 5; ++r) CHECK(comparison.ranges()[r].tokens == 2);
    CHECK(all_of(comparison).tokens == 10);
    CHECK(all_of(comparison).same_top == 4);
    CHECK(all_of(comparison).scored == 0);
    REQUIRE(comparison.first_difference());
    CHECK(comparison.first_difference()->position == 128);
    CHECK(comparison.first_difference()->a == 1);
    CHECK(comparison.first_difference()->b == 0);
}

TEST_CASE("routes agree by their sets, and by the weight that went to the same experts", "[examples][short]") {
    const Routes a{3, 2, 8, {1, 2, 5, 3, 4, -1}, {0.75F, 0.25F, 0.5F, 0.5F, 1.0F, 0.0F}};
    const Routes b{3, 2, 8, {2, 1, 5, 7, 4, 6}, {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F}};
    RouteDistance distance;
    distance.add(a, b);
    CHECK(distance.tokens == 3);
    CHECK(distance.same_set == 1);  // the third of B has one more
    CHECK(distance.kept_sum == Approx(1.0 + 0.5 + 1.0));
}

TEST_CASE("a side is a list of settings, a file or the default", "[examples][short]") {
    const auto side = parse_side("cache=bf16,top-k=2,temperature=0.5,clamp=10,share=0.9,without=3+17", "model");
    REQUIRE(side);
    CHECK(side->path == "model");
    CHECK(side->cache_dtype == DType::bf16);
    CHECK(side->top_k == 2);
    CHECK(side->temperature == 0.5F);
    CHECK(side->logit_clamp == 10.0F);
    CHECK(side->cumulative_probability == 0.9F);
    CHECK(side->masked_experts == std::vector<std::int64_t>{3, 17});
    CHECK_FALSE(parse_side("default", "model")->changes_router());
    CHECK(parse_side("/", "model")->path == "/");
    CHECK(parse_side("file=other,cache=f32", "model")->path == "other");
    // What is unset stays as the checkpoint has it.
    RouterSpec router;
    router.expert_count = 20;
    RouterPolicy policy;
    policy.top_k = 7;
    CHECK(parse_side("without=3", "model")->generation_options().change_router(0, router, policy).is_ok());
    CHECK(policy.top_k == 7);
    CHECK(policy.temperature == 1.0F);
    REQUIRE(policy.is_masked.size() == 20);
    CHECK(policy.is_masked[3]);
    CHECK_FALSE(policy.is_masked[4]);
}

TEST_CASE("what is no setting is named", "[examples][short]") {
    CHECK(message_of("top-k=two") == "'top-k=two' is no setting of a side, expected a whole number");
    CHECK(message_of("cache=q9").find("'cache=q9' is no setting of a side, expected f32") == 0);
    CHECK(message_of("without=1+").find("expected numbers of experts as in without=3+17") != std::string::npos);
    CHECK(message_of("without=-1").find("expected numbers of experts") != std::string::npos);
    CHECK(message_of("file=") == "'file=' is no setting of a side, expected a path");
    CHECK(message_of("speed=1").find("expected file, cache, weights, top-k") != std::string::npos);
    CHECK(message_of("").find("expected 'default', a file or NAME=VALUE") != std::string::npos);
}
