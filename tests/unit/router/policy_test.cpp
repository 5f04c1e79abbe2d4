// What Router::check and the calls refuse.
#include <cmath>
#include <limits>

#include "unit/router/routed.hpp"

using namespace mixtura;

namespace {

template <class Change>
void check_refused(std::string_view part, const Change& change) {
    RouterPolicy policy{.top_k = 2};
    REQUIRE(Router::check(policy, 8).is_ok());
    change(policy);
    const Status status = Router::check(policy, 8);
    INFO(part << " | " << status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(part) != std::string_view::npos);
    RoutePlan plan;
    const std::vector<float> logits(8);
    CHECK(Router::route_logits(logits, {}, policy, 8, {}, plan).code() == StatusCode::invalid_argument);
    CHECK(plan.expert_ids.empty());
}

}  // namespace

TEST_CASE("a policy that makes no sense is refused with the field's name", "[router][short]") {
    using P = RouterPolicy;
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    check_refused("top_k is 0", [](P& p) { p.top_k = 0; });
    check_refused("top_k is -1", [](P& p) { p.top_k = -1; });
    check_refused("top_k is 9, expected 1 to 8", [](P& p) { p.top_k = 9; });
    check_refused("scoring is 4", [](P& p) { p.scoring = static_cast<RouterScoring>(4); });
    check_refused("scoring is -1", [](P& p) { p.scoring = static_cast<RouterScoring>(-1); });
    check_refused("group_count is 0", [](P& p) { p.group_count = 0; });
    check_refused("group_count is 3", [](P& p) { p.group_count = 3; });
    check_refused("group_count is 16", [](P& p) { p.group_count = 16; });
    check_refused("groups_kept is 0", [](P& p) { p.groups_kept = 0; });
    check_refused("groups_kept is 2", [](P& p) { p.groups_kept = 2; });
    check_refused("1 groups of 1 experts are kept, too few for a top_k of 2", [](P& p) { p.group_count = 8; });
    check_refused("group_score is 7", [](P& p) { p.group_score = static_cast<GroupScore>(7); });
    check_refused("overflow is 2", [](P& p) { p.overflow = static_cast<CapacityOverflow>(2); });
    check_refused("is_masked has 7 entries", [](P& p) { p.is_masked.assign(7, false); });
    check_refused("is_masked masks all 8", [](P& p) { p.is_masked.assign(8, true); });
    for (const float bad : {0.0F, -1.0F, nan, infinity}) {
        check_refused("temperature is", [=](P& p) { p.temperature = bad; });
        check_refused("logit_clamp is", [=](P& p) { p.logit_clamp = bad; });
        check_refused("capacity_factor is", [=](P& p) { p.capacity_factor = bad; });
        check_refused("cumulative_probability is", [=](P& p) { p.cumulative_probability = bad; });
    }
    check_refused("cumulative_probability is", [](P& p) { p.cumulative_probability = 1.5F; });
    for (const float bad : {-1.0F, nan, infinity}) {
        check_refused("renormalise_floor is", [=](P& p) { p.renormalise_floor = bad; });
        check_refused("renormalise_bias is", [=](P& p) { p.renormalise_bias = bad; });
        check_refused("sparsemixer_epsilon is", [=](P& p) { p.sparsemixer_epsilon = bad; });
    }
    check_refused("routed_scale is", [=](P& p) { p.routed_scale = nan; });
    CHECK(Router::check({}, 0).code() == StatusCode::invalid_argument);
    CHECK(Router::check({}, (std::int64_t{1} << 24) + 1).code() == StatusCode::invalid_argument);
    CHECK(Router::check({}, std::int64_t{1} << 24).is_ok());
}

TEST_CASE("spans of another size are refused and leave the plan alone", "[router][short]") {
    RoutePlan plan;
    const std::vector<float> logits(6), bias(4);
    const std::vector<std::uint8_t> padding(3);
    CHECK(Router::route_logits(logits, {}, {}, 4, {}, plan).message() ==
          "router: 6 floats of logits are given, expected a multiple of 4");
    CHECK(Router::route_logits(logits, bias, {}, 3, {}, plan).message() ==
          "router: the selection bias has 4 entries, expected none or 3");
    CHECK(Router::route_logits(logits, {}, {}, 3, padding, plan).message() ==
          "the padding mask has 3 entries, expected none or 2, one a token");
    CHECK(plan.expert_ids.empty());
    CHECK(plan.offsets.empty());
}
