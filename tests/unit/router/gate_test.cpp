// The gate in front of the choice: Router from bare tensors.
#include <cmath>
#include <limits>

#include "kernels/backend.hpp"
#include "kernels/quant/half.hpp"
#include "router/router_state.hpp"
#include "support/fp_modes.hpp"
#include "support/weights.hpp"
#include "unit/router/routed.hpp"

using namespace mixtura;
using test::Floats;
using test::Ids;

namespace {

// Bytes of `values` in a 16-bit dtype or f32, and the values that these bytes are.
struct Stored {
    std::vector<std::uint16_t> halves;
    Floats values;
    DType dtype;

    Stored(DType type, Floats given) : values(std::move(given)), dtype(type) {
        if (type == DType::f32) return;
        for (float& value : values) {
            halves.push_back(type == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value));
            value = type == DType::f16 ? f16_to_f32(halves.back()) : bf16_to_f32(halves.back());
        }
    }
    RouterTensor tensor() const {
        return {dtype == DType::f32 ? static_cast<const void*>(values.data()) : halves.data(), dtype};
    }
};

Floats random_floats(std::int64_t count, std::uint64_t seed) {
    test::Random random(seed);
    Floats values(static_cast<std::size_t>(count));
    for (float& value : values) value = random.gaussian();
    return values;
}

// y [T, N] = x [T, K] W [N, K]^T in double.
std::vector<double> product(const std::vector<double>& x, const Floats& w, std::size_t columns) {
    const std::size_t rows = w.size() / columns;
    std::vector<double> y(x.size() / columns * rows);
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::size_t k = 0; k < columns; ++k) {
            y[i] += x[i / rows * columns + k] * static_cast<double>(w[i % rows * columns + k]);
        }
    }
    return y;
}

void check_logits(const Router& router, const Floats& hidden, const std::vector<double>& expected) {
    Floats logits(expected.size());
    REQUIRE(router.logits(hidden, logits).is_ok());
    for (std::size_t i = 0; i < logits.size(); ++i) CHECK(logits[i] == Approx(expected[i]).margin(1e-4));
}

}  // namespace

TEST_CASE("logits are the gate's rows times the hidden state, plus its bias", "[router][short]") {
    constexpr std::int64_t kHidden = 37, kExperts = 19, kTokens = 5;
    const Floats hidden = random_floats(kTokens * kHidden, 1);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const Stored gate(dtype, random_floats(kExperts * kHidden, 2)), bias(dtype, random_floats(kExperts, 3));
        const RouterSpec spec{.hidden_size = kHidden, .expert_count = kExperts, .policy = {.top_k = 3}};
        const auto plain = Router::create({.gate = gate.tensor()}, spec);
        const auto biased = Router::create({.gate = gate.tensor(), .gate_bias = bias.tensor()}, spec);
        REQUIRE(plain);
        REQUIRE(biased);
        CHECK(plain->policy().top_k == 3);
        CHECK(plain->spec().hidden_size == kHidden);
        std::vector<double> expected = product({hidden.begin(), hidden.end()}, gate.values, kHidden);
        check_logits(*plain, hidden, expected);
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(bias.values[i % kExperts]);
        check_logits(*biased, hidden, expected);
    }
}

TEST_CASE("a two-layer gate is two products with relu or silu between them", "[router][short]") {
    constexpr std::int64_t kHidden = 24, kWidth = 17, kExperts = 9;
    const Floats hidden = random_floats(4 * kHidden, 4);
    const Stored inner(DType::bf16, random_floats(kWidth * kHidden, 5)),
        outer(DType::f32, random_floats(kExperts * kWidth, 6));
    for (const bool is_relu : {true, false}) {
        const auto router = Router::create(
            {.gate = outer.tensor(), .inner_gate = inner.tensor()},
            {.hidden_size = kHidden, .expert_count = kExperts, .gate_width = kWidth, .is_inner_relu = is_relu});
        REQUIRE(router);
        std::vector<double> between = product({hidden.begin(), hidden.end()}, inner.values, kHidden);
        for (double& x : between) x = is_relu ? std::max(x, 0.0) : x / (1 + std::exp(-x));
        check_logits(*router, hidden, product(between, outer.values, kWidth));
        RoutePlan plan;
        REQUIRE(router->route(hidden, router->policy(), {}, plan).is_ok());
        CHECK(plan.tokens == 4);
    }
}

TEST_CASE("a two-layer gate of small integers gives the logits computed by hand", "[router][short]") {
    const Floats inner{1, 1, -1, 0}, outer{1, 0, 0, 2, 1, -1};  // [2, 2], [3, 2]
    const auto router = Router::create({.gate = {outer.data(), DType::f32}, .inner_gate = {inner.data(), DType::f32}},
                                       {.hidden_size = 2, .expert_count = 3, .gate_width = 2});
    REQUIRE(router);
    Floats logits(6);
    REQUIRE(router->logits(Floats{2, 1, -3, 1}, logits).is_ok());  // inner: 3, -2 and -2, 3; relu: 3, 0 and 0, 3
    CHECK(logits == Floats{3, 0, 3, 0, 6, -3});
}

TEST_CASE("route is logits and then route_logits, in any floating-point mode of the host", "[router][short]") {
    const Floats hidden = random_floats(6 * 20, 7);
    const Stored gate(DType::f16, random_floats(8 * 20, 8)), bias(DType::f32, random_floats(8, 9));
    const auto router =
        Router::create({.gate = gate.tensor(), .selection_bias = bias.tensor()},
                       {.hidden_size = 20,
                        .expert_count = 8,
                        .policy = {.scoring = RouterScoring::sigmoid, .top_k = 3, .renormalise = true}});
    REQUIRE(router);
    Floats logits(6 * 8);
    REQUIRE(router->logits(hidden, logits).is_ok());
    const RoutePlan expected = test::routed(logits, router->policy(), 8, bias.values);
    for (const test::FpMode mode : test::kFpModes) {
        RoutePlan plan, from_logits;
        {
            const test::HostFpMode host(mode);
            REQUIRE(router->route(hidden, router->policy(), {}, plan).is_ok());
            REQUIRE(Router::route_logits(logits, bias.values, router->policy(), 8, {}, from_logits).is_ok());
            CHECK(host.is_in_force());
        }
        test::check_same(plan, expected);
        test::check_same(from_logits, expected);
    }
}

TEST_CASE("a Router over borrowed weights keeps their owner alive", "[router][short]") {
    auto owner = std::make_shared<std::vector<float>>(16 * 2, 0.0F);
    (*owner)[1] = 1.0F;   // panel of 16 rows, column after column: expert 1 has the first hidden value
    (*owner)[16] = 2.0F;  // expert 0 twice the second
    const std::weak_ptr<const void> watch = owner;
    GateView view;
    view.gate = {DType::f32, 2, 2, reinterpret_cast<const std::byte*>(owner->data())};
    {
        const Router router =
            make_router({.hidden_size = 2, .expert_count = 2}, view, backends()[0].table, std::move(owner));
        CHECK_FALSE(watch.expired());
        Floats logits(2);
        REQUIRE(router.logits(Floats{3, 5}, logits).is_ok());
        CHECK(logits == Floats{10, 3});
    }
    CHECK(watch.expired());
}

TEST_CASE("bare tensors that make no router are refused", "[router][short]") {
    const Floats tensor(16);
    const RouterTensor gate{tensor.data(), DType::f32};
    const auto refuse = [](const RouterWeights& weights, const RouterSpec& spec, std::string_view part) {
        const auto router = Router::create(weights, spec);
        REQUIRE_FALSE(router);
        INFO(router.status().message());
        CHECK(router.status().code() == StatusCode::invalid_argument);
        CHECK(router.status().message().find(part) != std::string_view::npos);
    };
    const RouterSpec spec{.hidden_size = 4, .expert_count = 4};
    REQUIRE(Router::create({.gate = gate}, spec));
    refuse({}, spec, "the gate is missing");
    refuse({.gate = {tensor.data(), DType::q8_0}}, spec, "the gate is q8_0, expected f32, f16 or bf16");
    refuse({.gate = gate, .gate_bias = {tensor.data(), DType::f8_e4m3}}, spec, "the gate bias is f8_e4m3");
    refuse({.gate = gate, .selection_bias = {tensor.data(), DType::i32}}, spec, "the selection bias is i32");
    refuse({.gate = gate}, {.hidden_size = 0, .expert_count = 4}, "hidden_size is 0");
    refuse({.gate = gate}, {.hidden_size = 4, .expert_count = -1}, "expert_count is -1");
    refuse({.gate = gate}, {.hidden_size = (1 << 24) + 1, .expert_count = 4}, "expected 1 to 16777216");
    refuse({.gate = gate}, {.hidden_size = 4, .expert_count = 4, .gate_width = -1}, "gate_width is -1");
    refuse({.gate = gate}, {.hidden_size = 4, .expert_count = 4, .gate_width = 4}, "the inner gate is missing");
    refuse({.gate = gate}, {.hidden_size = 4, .expert_count = 4, .policy = {.top_k = 5}}, "top_k is 5");

    const auto router = Router::create({.gate = gate}, spec);
    RoutePlan plan;
    Floats logits(5);
    CHECK(router->route(Floats(6), {}, {}, plan).message() ==
          "router: 6 floats of hidden states are given, expected a multiple of 4");
    CHECK(router->route(Floats(8), {.top_k = 5}, {}, plan).code() == StatusCode::invalid_argument);
    CHECK(router->logits(Floats(8), logits).message() ==
          "router: room for 5 logits is given, expected 8: 2 tokens times 4 experts");
}
