// A host's own router policy in a generation and in a batch.
#include <mixtura/batch.hpp>

#include <catch2/catch.hpp>
#include <cstring>

#include "support/files.hpp"
#include "support/generations.hpp"

using namespace mixtura;

namespace {

using ChangeRouter = decltype(GenerationOptions::change_router);

const std::vector<TokenId> kTokens = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

Model open() { return test::open_model(test::golden("models/qwen3-moe")); }

Result<Generation> start(const Model& model, const ChangeRouter& change, std::int64_t step_tokens = 2048) {
    return Generation::create(model, {.thread_count = 2,
                                      .context_tokens = 64,
                                      .cache_dtype = DType::f32,
                                      .step_tokens = step_tokens,
                                      .change_router = change});
}

// The logits after kTokens, and every plan on the way.
std::vector<float> feed(const Model& model, const ChangeRouter& change, std::vector<RoutePlan>* plans = nullptr,
                        std::int64_t step_tokens = 2048) {
    auto generation = start(model, change, step_tokens);
    INFO(generation.status().message());
    REQUIRE(generation);
    FeedOptions options;
    if (plans != nullptr) {
        options.on_route = [plans](std::int64_t, std::int64_t, const RoutePlan& plan) {
            plans->push_back(plan);
            return Flow::go_on;
        };
    }
    REQUIRE(generation->feed(kTokens, options).is_ok());
    return {generation->logits().begin(), generation->logits().end()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a policy that is left alone changes no bit", "[engine][short]") {
    const Model model = open();
    std::vector<std::int64_t> layers;
    const ChangeRouter look = [&](std::int64_t layer, const RouterSpec& router, RouterPolicy& policy) {
        layers.push_back(layer);
        CHECK(policy.top_k == router.policy.top_k);
        CHECK(router.expert_count == 16);
        return Status();
    };
    CHECK(same_bits(feed(model, look), feed(model, {})));
    CHECK(layers == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("tokens go where the host's policy sends them, however they are cut into steps", "[engine][short]") {
    const Model model = open();
    const ChangeRouter change = [](std::int64_t layer, const RouterSpec& router, RouterPolicy& policy) {
        policy.top_k = layer == 1 ? 3 : 1;
        policy.is_masked.assign(static_cast<std::size_t>(router.expert_count), false);
        policy.is_masked[5] = true;
        return Status();
    };
    std::vector<RoutePlan> plans;
    const std::vector<float> whole = feed(model, change, &plans);
    REQUIRE(plans.size() == 3);
    for (std::size_t layer = 0; layer < 3; ++layer) {
        CHECK(plans[layer].choices == (layer == 1 ? 3 : 1));
        for (const std::int32_t expert : plans[layer].expert_ids) CHECK(expert != 5);
    }
    CHECK_FALSE(same_bits(whole, feed(model, {})));
    CHECK(same_bits(whole, feed(model, change, nullptr, 5)));

    auto batch = Batch::create(
        model, {.thread_count = 1, .context_tokens = 64, .cache_dtype = DType::f32, .change_router = change}, 2);
    REQUIRE(batch);
    std::vector<float> logits(2 * whole.size());
    for (const TokenId token : kTokens) REQUIRE(batch->step(std::vector<TokenId>{7, token}, logits).is_ok());
    CHECK(same_bits({logits.begin() + static_cast<std::ptrdiff_t>(whole.size()), logits.end()}, whole));
}

TEST_CASE("more experts than the checkpoint asks for have room", "[engine][short]") {
    const Model model = open();
    std::vector<RoutePlan> plans;
    feed(
        model,
        [](std::int64_t, const RouterSpec& router, RouterPolicy& policy) {
            policy.top_k = router.expert_count;
            return Status();
        },
        &plans);
    REQUIRE(plans.size() == 3);
    CHECK(plans[0].offsets.back() == static_cast<std::int64_t>(kTokens.size()) * 16);
}

TEST_CASE("a policy that cannot be kept is refused with its layer", "[engine][short]") {
    const Model model = open();
    const auto refused = [&](const ChangeRouter& change) {
        const auto generation = start(model, change);
        CHECK_FALSE(generation);
        CHECK_FALSE(Batch::create(model, {.context_tokens = 64, .change_router = change}, 1));
        return generation.status();
    };
    const Status many = refused([](std::int64_t layer, const RouterSpec&, RouterPolicy& policy) {
        if (layer == 2) policy.top_k = 17;
        return Status();
    });
    CHECK(many.code() == StatusCode::invalid_argument);
    CHECK(many.message() ==
          "the router of layer 2: router policy: top_k is 17, expected 1 to 16, the number of experts");
    const Status capacity = refused([](std::int64_t, const RouterSpec&, RouterPolicy& policy) {
        policy.capacity_factor = 1.5F;
        return Status();
    });
    const Status own = refused([](std::int64_t layer, const RouterSpec&, RouterPolicy&) {
        return layer == 1 ? Status(StatusCode::bad_state, "not today") : Status();
    });
    CHECK(own.code() == StatusCode::bad_state);
    CHECK(own.message() == "not today");
    CHECK(capacity.code() == StatusCode::unsupported);
    CHECK(capacity.message().find("the router of layer 0 is given a capacity of 1.5") == 0);
}
