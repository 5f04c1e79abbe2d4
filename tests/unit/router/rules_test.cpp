// Each rule of a policy against answers computed by hand.
#include <mixtura/router.hpp>

#include <catch2/catch.hpp>

using namespace mixtura;

namespace {

RoutePlan route(const std::vector<float>& logits, const RouterPolicy& policy, std::int64_t experts,
                const std::vector<float>& bias = {}, const std::vector<std::uint8_t>& padding = {}) {
    RoutePlan plan;
    const Status status = Router::route_logits(logits, bias, policy, experts, padding, plan);
    INFO(status.message());
    REQUIRE(status.is_ok());
    return plan;
}

using Ids = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("equal logits go to the lower expert id", "[router][short]") {
    const RoutePlan plan = route({1, 2, 2, 2, 0}, {.top_k = 2}, 5);
    CHECK(plan.expert_ids == Ids{1, 2});
}
