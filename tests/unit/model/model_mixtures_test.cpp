// A model's routers and experts, handed out one by one, against the same made from bare tensors.
#include <mixtura/mixtura.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "support/files.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

// What a host that has its own reader would hold: one tensor's bytes.
struct Bare {
    std::vector<std::byte> bytes;
    DType dtype;
};
Bare bare(const test::Tensors& tensors, const std::string& name) {
    return {tensors.bytes(name), tensors.info(name).dtype};
}

std::vector<float> some_hidden(std::size_t count) {
    std::vector<float> values(count);
    std::uint32_t state = 1;
    for (float& value : values) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
    }
    return values;
}

}  // namespace

TEST_CASE("a model's routers and experts give what the same bare tensors give", "[model][short]") {
    const test::Tensors tensors("models/mixtral/model.safetensors");
    auto model = Model::open(test::golden("models/mixtral"), {.thread_count = 2});
    REQUIRE(model);
    constexpr std::size_t kTokens = 33, kHidden = 64;
    const std::vector<float> hidden = some_hidden(kTokens * kHidden);
    for (std::int64_t l = 0; l < model->layer_count(); ++l) {
        const Router* router = model->router(l);
        const ExpertPool* experts = model->experts(l);
        REQUIRE(router != nullptr);
        REQUIRE(experts != nullptr);
        const std::string block = "model.layers." + std::to_string(l) + ".block_sparse_moe.";
        const Bare gate = bare(tensors, block + "gate.weight");
        const auto alone = Router::create(
            {.gate = {gate.bytes.data(), gate.dtype}, .inner_gate = {}, .gate_bias = {}, .selection_bias = {}},
            router->spec());
        REQUIRE(alone);
        RoutePlan plan, plan_alone;
        REQUIRE(router->route(hidden, router->policy(), {}, plan).is_ok());
        REQUIRE(alone->route(hidden, router->policy(), {}, plan_alone).is_ok());
        CHECK(plan.expert_ids == plan_alone.expert_ids);
        CHECK(test::first_difference(plan.weights, plan_alone.weights) == plan.weights.size());

        std::vector<Bare> kept;
        kept.reserve(3 * 8);
        ExpertWeights weights;
        for (int e = 0; e < 8; ++e) {
            const std::string expert = block + "experts." + std::to_string(e) + ".";
            ExpertMatrix matrices[3];
            for (int m = 0; m < 3; ++m) {
                kept.push_back(
                    bare(tensors,
                         expert + std::vector<std::string>{"w1", "w3", "w2"}[static_cast<std::size_t>(m)] + ".weight"));
                matrices[m] = {kept.back().bytes.data(), kept.back().dtype, 0};
            }
            ExpertTensors one;
            one.gate = matrices[0];
            one.up = matrices[1];
            one.down = matrices[2];
            weights.experts.push_back(one);
        }
        const auto pool = ExpertPool::create(weights, experts->spec());
        REQUIRE(pool);
        CHECK(pool->weight_bytes() == experts->weight_bytes());
        std::vector<float> mixed(hidden.size()), mixed_alone(hidden.size(), 1.0F);
        REQUIRE(experts->run(hidden, plan, mixed).is_ok());
        REQUIRE(pool->run(hidden, plan, mixed_alone).is_ok());
        CHECK(test::first_difference(mixed, mixed_alone) == mixed.size());
    }
    CHECK(model->router(-1) == nullptr);
    CHECK(model->experts(model->layer_count()) == nullptr);
}

TEST_CASE("a dense layer has neither a router nor experts", "[model][short]") {
    auto model = Model::open(test::golden("models/qwen2-moe"));
    REQUIRE(model);
    CHECK(model->router(0) == nullptr);
    CHECK(model->experts(0) == nullptr);
    CHECK(model->router(1) != nullptr);
}
