// Plans that a caller wrote: the grouped view, and what is refused.
#include <cmath>

#include "unit/router/routed.hpp"

using namespace mixtura;
using test::Counts;
using test::Ids;

namespace {

RoutePlan written(std::int64_t tokens, std::int64_t choices, Ids ids) {
    RoutePlan plan;
    plan.tokens = tokens;
    plan.choices = choices;
    plan.weights.assign(ids.size(), 0.5F);
    plan.expert_ids = std::move(ids);
    return plan;
}

void check_refused(RoutePlan plan, std::int64_t experts, std::string_view part) {
    const Status status = plan.group(experts);
    INFO(status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(part) != std::string_view::npos);
    CHECK(plan.offsets.empty());
    CHECK(plan.experts_of_token.empty());
}

}  // namespace

TEST_CASE("slots are sorted by expert, within an expert by token", "[router][short]") {
    RoutePlan plan = written(4, 2, {2, 0, 0, -1, -1, -1, 0, 2});
    REQUIRE(plan.group(4).is_ok());
    CHECK(plan.experts == 4);
    CHECK(plan.experts_of_token == Ids{2, 1, 0, 2});
    CHECK(plan.offsets == Counts{0, 3, 3, 5, 5});
    CHECK(plan.token_of_slot == Ids{0, 1, 3, 0, 3});
    CHECK(plan.slot_of_token_choice == Ids{3, 0, 1, -1, -1, -1, 2, 4});
    CHECK(plan.counters.load == Counts{3, 0, 2, 0});
    RoutePlan none = written(0, 1, {});
    REQUIRE(none.group(2).is_ok());
    CHECK(none.offsets == Counts{0, 0, 0});
}

TEST_CASE("malformed plans are refused with a sentence and left alone", "[router][short]") {
    check_refused(written(1, 2, {0, 1}), 0, "0 experts");
    check_refused(written(1, 2, {0, 1}), std::int64_t{1} << 40, "experts, expected 1 to 16777216");
    check_refused(written(-1, 2, {0, 1}), 4, "tokens is -1");
    check_refused(written(1, 0, {}), 4, "choices is 0");
    check_refused(written(1, 5, {0, 1, 2, 3, -1}), 4, "choices is 5");
    check_refused(written(2, 2, {0, 1}), 4, "2 expert_ids and 2 weights, expected 4");
    check_refused(written(std::int64_t{1} << 62, 4, {0, 1}), 4, "more than 2147483647");
    RoutePlan plan = written(1, 2, {0, 1});
    plan.weights.pop_back();
    check_refused(plan, 4, "1 weights");
    check_refused(written(1, 2, {0, 4}), 4, "choice 1 of token 0 is expert 4, expected -1 to 3");
    check_refused(written(1, 2, {-2, 0}), 4, "expert -2");
    check_refused(written(2, 2, {0, 1, 3, 3}), 4, "token 1 has expert 3 twice");
    check_refused(written(2, 2, {0, 1, -1, 3}), 4, "choice 1 of token 1 is used behind an unused one");
}

TEST_CASE("grouping what the router chose changes nothing", "[router][short]") {
    const RoutePlan plan = test::routed({1, 2, 3, 3, 2, 1, NAN, 0, 0}, {.top_k = 2}, 3);
    RoutePlan copy = plan;
    CHECK(copy.scratch.rows.empty());
    copy.offsets.clear();
    copy.token_of_slot.clear();
    copy.slot_of_token_choice.clear();
    copy.experts_of_token.clear();
    copy.counters.load.clear();
    REQUIRE(copy.group(3).is_ok());
    test::check_same(plan, copy);
}
