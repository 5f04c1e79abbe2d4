#include "cli/step_cost.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::cli;

namespace {

// Four experts of which a token chooses one; one of the dense matrices is f32.
MemoryForecast forecast() {
    MemoryForecast forecast;
    forecast.roles = {{"token_embedding", 1, 5000, 0, 5000},
                      {"layers.#.attention.query.weight", 2, 1000, 1000, 600},
                      {"layers.#.router.gate.weight", 2, 100, 0, 400},
                      {"layers.#.experts.up.weight", 8, 8000, 8000, 4000},
                      {"head.weight", 1, 3000, 3000, 2000}};
    forecast.token.routed_parameters = 2000;
    return forecast;
}

ModelFacts facts() {
    ModelFacts facts;
    facts.layer_count = 2;
    facts.head_count = 4;
    facts.head_size = 8;
    return facts;
}

}  // namespace

TEST_CASE("a token is multiplied with the dense weights, its experts and, where it gets logits, the head",
          "[examples][short]") {
    const ModelCost cost(forecast(), facts(), 10);
    CHECK(cost.has_experts());
    const StepCost decode = cost.step(1, 1, 6, 1);
    CHECK(decode.integer_ops == 2 * (1000 + 2000 + 3000));
    CHECK(decode.float_ops == 2 * 100 + 4 * 2 * 4 * 8 * 7);
    CHECK(decode.bytes == 600 + 400 + 4000 / 4 + 2000 + 10 * 7);
    const StepCost silent = cost.step(1, 1, 6, 0);
    CHECK(silent.integer_ops == 2 * (1000 + 2000));
    CHECK(silent.bytes == decode.bytes - 2000);
}

TEST_CASE("tokens of a step share the weights they read, and attend to what lies before them", "[examples][short]") {
    const ModelCost cost(forecast(), facts(), 10);
    const StepCost prompt = cost.step(1, 3, 0, 1);
    CHECK(prompt.integer_ops == 2 * (3 * (1000 + 2000) + 3000));
    CHECK(prompt.float_ops == 2 * 3 * 100 + 4 * 2 * 4 * 8 * (1 + 2 + 3));
    const double read_experts = 4000 * (1 - 0.75 * 0.75 * 0.75);
    CHECK(prompt.bytes == Approx(600 + 400 + read_experts + 2000 + 10 * 3));
    const StepCost batch = cost.step(3, 1, 5, 3);
    CHECK(batch.float_ops == 2 * 3 * 100 + 4 * 2 * 4 * 8 * 3 * 6);
    CHECK(batch.bytes == Approx(600 + 400 + read_experts + 2000 + 10 * 3 * 6));
}

TEST_CASE("the share is of whichever needs longer on a perfect machine", "[examples][short]") {
    const MachineRates rates{
        .thread_count = 1, .read_bytes_per_s = 10, .integer_ops_per_s = 100, .float_ops_per_s = 50};
    const LimitShare compute = limit_share({.integer_ops = 200, .float_ops = 50, .bytes = 5}, rates, 6);
    CHECK(compute.limit == "compute");
    CHECK(compute.share == 0.5);
    const LimitShare reading = limit_share({.integer_ops = 200, .float_ops = 50, .bytes = 60}, rates, 12);
    CHECK(reading.limit == "bandwidth");
    CHECK(reading.share == 0.5);
}

TEST_CASE("the cost of a model on disk comes from its headers", "[examples][short]") {
    const std::string path = test::golden("models/qwen3");
    const auto checkpoint = Checkpoint::open(path);
    REQUIRE(checkpoint);
    const ModelFacts& f = checkpoint->facts();
    const auto cost = ModelCost::of(path, f, DType::f16);
    REQUIRE(cost);
    CHECK_FALSE(cost->has_experts());
    const StepCost one = cost->step(1, 1, 0, 1), second = cost->step(1, 1, 1, 1);
    CHECK(one.integer_ops == 0);  // bf16
    const auto head_width = static_cast<double>(f.head_count * f.head_size);
    CHECK(second.float_ops - one.float_ops == 4.0 * static_cast<double>(f.layer_count) * head_width);
    // Two of f16 a layer, head and element.
    CHECK(second.bytes - one.bytes == static_cast<double>(4 * f.layer_count * f.kv_head_count * f.head_size));
    CHECK(ModelCost::of(test::golden("models/none"), f, DType::f16).status().code() == StatusCode::not_found);
}
