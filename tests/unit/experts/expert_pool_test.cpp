#include <mixtura/expert_pool.hpp>

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <thread>

#include "experts/pool_state.hpp"
#include "kernels/backend.hpp"
#include "support/fp_modes.hpp"
#include "support/tensors.hpp"
#include "unit/experts/mixture_case.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kHidden = 96, kWidth = 64, kExperts = 5;

test::MixtureCase small_mixture(DType dtype = DType::q8_0, std::uint64_t seed = 1) {
    const ExpertSpec sizes{.hidden_size = kHidden, .expert_count = kExperts, .width = kWidth, .shared_width = kHidden};
    return test::random_mixture(sizes, {.has_bias = true, .shared = test::SharedKind::weighed}, {dtype}, seed);
}

ExpertPool pool_of(const test::MixtureCase& mixture, int threads = 1) {
    Result<ExpertPool> pool = ExpertPool::create(mixture.bare(), mixture.spec, {.thread_count = threads});
    INFO(std::string(pool.status().message()));
    REQUIRE(pool.is_ok());
    return *std::move(pool);
}

std::string refusal(const ExpertWeights& weights, const ExpertSpec& spec,
                    StatusCode code = StatusCode::invalid_argument) {
    const Result<ExpertPool> pool = ExpertPool::create(weights, spec);
    REQUIRE_FALSE(pool.is_ok());
    CHECK(pool.status().code() == code);
    return std::string(pool.status().message());
}

}  // namespace

TEST_CASE("a pool gives the formulas' bits, in any floating-point mode of its host", "[experts][short]") {
    for (const DType dtype : {DType::q8_0, DType::mxfp4, DType::bf16}) {
        const test::MixtureCase mixture = small_mixture(dtype);
        const std::vector<float> hidden = test::gaussian_rows(21, kHidden, 2);
        const RoutePlan plan = test::random_plan(21, 3, kExperts, 3);
        const std::vector<float> expected = test::expected_output(mixture, hidden, plan);
        for (const int threads : {1, 3}) {
            for (const test::FpMode mode : test::kFpModes) {
                const ExpertPool pool = pool_of(mixture, threads);
                std::vector<float> output(hidden.size());
                const test::HostFpMode host(mode);
                const Status status = pool.run(hidden, plan, output);
                REQUIRE(host.is_in_force());
                REQUIRE(status.is_ok());
                REQUIRE(test::first_difference(output, expected) == output.size());
            }
        }
    }
}

TEST_CASE("a pool keeps nothing of the tensors it was made from", "[experts][short]") {
    const std::vector<float> hidden = test::gaussian_rows(4, kHidden, 2);
    const RoutePlan plan = test::random_plan(4, 3, kExperts, 3);
    std::vector<float> expected, output(hidden.size());
    const ExpertPool pool = [&] {
        test::MixtureCase mixture = small_mixture();
        expected = test::expected_output(mixture, hidden, plan);
        return pool_of(mixture);
    }();
    REQUIRE(pool.run(hidden, plan, output).is_ok());
    CHECK(test::first_difference(output, expected) == output.size());
}

TEST_CASE("rows that lie apart give what dense rows give", "[experts][short]") {
    const test::MixtureCase mixture = small_mixture();
    ExpertWeights weights = mixture.bare();
    const test::FileMatrix& down = mixture.experts[2].down;
    const std::size_t row = down.bytes.size() / static_cast<std::size_t>(down.rows);
    std::vector<std::byte> apart(static_cast<std::size_t>(down.rows) * (row + 24));
    for (std::size_t r = 0; r < static_cast<std::size_t>(down.rows); ++r)
        std::memcpy(apart.data() + r * (row + 24), down.bytes.data() + r * row, row);
    weights.experts[2].down = {apart.data(), down.dtype, static_cast<std::int64_t>(row + 24)};
    const Result<ExpertPool> pool = ExpertPool::create(weights, mixture.spec);
    REQUIRE(pool.is_ok());
    const std::vector<float> hidden = test::gaussian_rows(9, kHidden, 2);
    const RoutePlan plan = test::random_plan(9, 3, kExperts, 3);
    std::vector<float> output(hidden.size());
    REQUIRE(pool->run(hidden, plan, output).is_ok());
    CHECK(test::first_difference(output, test::expected_output(mixture, hidden, plan)) == output.size());
}

TEST_CASE("experts that name the same data share one copy of it", "[experts][short]") {
    test::MixtureCase mixture = small_mixture();
    const std::uint64_t all = pool_of(mixture).weight_bytes();
    ExpertWeights weights = mixture.bare();
    weights.experts[3] = weights.experts[1];
    weights.experts[4].up = weights.experts[0].up;
    const Result<ExpertPool> pool = ExpertPool::create(weights, mixture.spec);
    REQUIRE(pool.is_ok());
    const std::uint64_t matrix = packed_bytes(DType::q8_0, kWidth, kHidden).value();
    const std::uint64_t expert = 3 * matrix + (kWidth + kWidth + kHidden) * sizeof(float);
    CHECK(pool->weight_bytes() == all - expert - matrix);

    mixture.experts[3] = mixture.experts[1];
    mixture.experts[4].up = mixture.experts[0].up;
    const std::vector<float> hidden = test::gaussian_rows(9, kHidden, 2);
    const RoutePlan plan = test::random_plan(9, 3, kExperts, 3);
    std::vector<float> output(hidden.size());
    REQUIRE(pool->run(hidden, plan, output).is_ok());
    CHECK(test::first_difference(output, test::expected_output(mixture, hidden, plan)) == output.size());
}

TEST_CASE("a pool over views that lie packed already keeps their memory alive, and no longer", "[experts][short]") {
    const test::MixtureCase mixture = small_mixture();
    const MixtureView view = mixture.view();
    const auto alive = std::make_shared<int>(0);
    {
        const ExpertPool pool =
            make_expert_pool(mixture.spec, mixture.views, view.shared, view.shared_gate, (*choose_backend())->table,
                             std::make_shared<SerialFor>(), alive, 1234);
        CHECK(pool.weight_bytes() == 1234);
        CHECK(alive.use_count() == 2);
        const std::vector<float> hidden = test::gaussian_rows(5, kHidden, 2);
        const RoutePlan plan = test::random_plan(5, 3, kExperts, 3);
        std::vector<float> output(hidden.size());
        REQUIRE(pool.run(hidden, plan, output).is_ok());
        CHECK(test::first_difference(output, test::expected_output(mixture, hidden, plan)) == output.size());
    }
    CHECK(alive.use_count() == 1);
}

TEST_CASE("a pool counts what it has done", "[experts][short]") {
    const ExpertPool pool = pool_of(small_mixture());
    const std::vector<float> hidden = test::gaussian_rows(2, kHidden, 2);
    RoutePlan plan{.tokens = 2, .choices = 2, .experts = kExperts, .expert_ids = {4, 0, 4, -1}};
    plan.weights = {0.5F, 0.25F, 1.0F, 0.0F};
    test::group(plan);
    std::vector<float> output(hidden.size());
    REQUIRE(pool.run(hidden, plan, output).is_ok());
    REQUIRE(pool.run(hidden, plan, output).is_ok());
    const ExpertPoolCounters counters = pool.counters();
    CHECK(counters.tokens == 4);
    CHECK(counters.expert_runs == 6);  // experts 0, 4 and the shared one
    CHECK(counters.choices == 6);
}

TEST_CASE("no tokens are nothing to do", "[experts][short]") {
    const ExpertPool pool = pool_of(small_mixture());
    RoutePlan plan{.tokens = 0, .choices = 3, .experts = kExperts};
    test::group(plan);
    CHECK(pool.run({}, plan, {}).is_ok());
    CHECK(pool.counters().expert_runs == 0);
}

TEST_CASE("a pool refuses sizes and weights that do not fit, with a sentence", "[experts][short]") {
    const test::MixtureCase mixture = small_mixture();
    const ExpertWeights good = mixture.bare();
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 24) + 1}) {
        ExpertSpec spec = mixture.spec;
        spec.hidden_size = size;
        CHECK(refusal(good, spec).find("hidden size") != std::string::npos);
        spec = mixture.spec;
        spec.width = size;
        CHECK(refusal(good, spec).find("width") != std::string::npos);
        spec = mixture.spec;
        spec.expert_count = size;
        CHECK(refusal(good, spec).find("number") != std::string::npos);
    }
    ExpertSpec spec = mixture.spec;
    spec.shared_width = -1;
    CHECK(refusal(good, spec).find("shared width") != std::string::npos);
    spec = mixture.spec;
    spec.activation = static_cast<ExpertActivation>(9);
    CHECK(refusal(good, spec).find("activation") != std::string::npos);
    spec = mixture.spec;
    spec.weight_at = static_cast<WeightAt>(-4);
    CHECK(refusal(good, spec).find("weight_at") != std::string::npos);
    spec = mixture.spec;
    spec.clamp_limit = std::numeric_limits<float>::quiet_NaN();
    CHECK(refusal(good, spec).find("clamp limit") != std::string::npos);

    ExpertWeights bad = good;
    bad.experts.pop_back();
    CHECK(refusal(bad, mixture.spec) == "weights of 4 experts are given for 5");
    bad = good;
    bad.experts[3].down.data = nullptr;
    CHECK(refusal(bad, mixture.spec) == "the down matrix of expert 3 is missing");
    bad = good;
    bad.shared_gate.data = nullptr;
    CHECK(refusal(bad, mixture.spec) == "the own gate matrix of the shared expert is missing");
    bad = good;
    bad.experts[0].gate.row_stride_bytes = 7;
    CHECK(refusal(bad, mixture.spec).find("7 bytes apart") != std::string::npos);
    bad = good;
    bad.experts[1].up.dtype = DType::i32;
    CHECK(refusal(bad, mixture.spec, StatusCode::unsupported).find("i32") != std::string::npos);
    bad = good;
    bad.experts[1].up.dtype = DType::q4_k;
    CHECK(refusal(bad, mixture.spec).find("whole blocks of q4_k") != std::string::npos);

    const Result<ExpertPool> threads = ExpertPool::create(good, mixture.spec, {.thread_count = -1});
    CHECK(threads.status().code() == StatusCode::invalid_argument);
}

TEST_CASE("a pool refuses a plan whose parts contradict each other, and leaves the output alone", "[experts][short]") {
    const ExpertPool pool = pool_of(small_mixture());
    const std::vector<float> hidden = test::gaussian_rows(6, kHidden, 2);
    const RoutePlan good = test::random_plan(6, 3, kExperts, 3);  // tokens 1 and 4 use fewer than 3
    std::vector<float> output(hidden.size(), -3.0F);
    const auto refuses = [&](const char* what, auto&& change) {
        RoutePlan plan = good;
        change(plan);
        const Status status = pool.run(hidden, plan, output);
        INFO(what << ": " << status.message());
        CHECK(status.code() == StatusCode::invalid_argument);
        CHECK(std::all_of(output.begin(), output.end(), [](float y) { return y == -3.0F; }));
    };
    refuses("experts", [](RoutePlan& p) { p.experts = 4; });
    refuses("tokens", [](RoutePlan& p) { p.tokens = 5; });
    refuses("negative tokens", [](RoutePlan& p) { p.tokens = -1; });
    refuses("tokens beyond int32", [](RoutePlan& p) { p.tokens = std::int64_t{1} << 40; });
    refuses("choices", [](RoutePlan& p) { p.choices = 2; });
    refuses("choices beyond int64", [](RoutePlan& p) { p.choices = std::numeric_limits<std::int64_t>::max(); });
    refuses("ids missing", [](RoutePlan& p) { p.expert_ids.pop_back(); });
    refuses("weights missing", [](RoutePlan& p) { p.weights.pop_back(); });
    refuses("offsets missing", [](RoutePlan& p) { p.offsets.clear(); });
    refuses("not grouped", [](RoutePlan& p) {
        p.offsets.clear();
        p.token_of_slot.clear();
        p.slot_of_token_choice.clear();
        p.experts_of_token.clear();
    });
    refuses("offsets from 1", [](RoutePlan& p) { p.offsets[0] = 1; });
    refuses("negative offset", [](RoutePlan& p) { p.offsets[1] = -5; });
    refuses("offset beyond the slots", [](RoutePlan& p) { p.offsets[2] = 1000; });
    refuses("huge offset", [](RoutePlan& p) { p.offsets[1] = std::numeric_limits<std::int64_t>::max(); });
    refuses("last offset", [](RoutePlan& p) { p.offsets.back() -= 1; });
    refuses("slots missing", [](RoutePlan& p) { p.token_of_slot.pop_back(); });
    refuses("negative token", [](RoutePlan& p) { p.token_of_slot[0] = -1; });
    refuses("token beyond the last", [](RoutePlan& p) { p.token_of_slot.back() = 6; });
    refuses("tokens of an expert not ascending",
            [](RoutePlan& p) { std::swap(p.token_of_slot[0], p.token_of_slot[1]); });
    refuses("slot out of range", [](RoutePlan& p) { p.slot_of_token_choice[0] = 4000; });
    refuses("negative slot of a used choice", [](RoutePlan& p) { p.slot_of_token_choice[0] = -1; });
    refuses("slot of another", [](RoutePlan& p) { std::swap(p.slot_of_token_choice[0], p.slot_of_token_choice[1]); });
    refuses("id out of range", [](RoutePlan& p) { p.expert_ids[0] = 5; });
    refuses("id below -1", [](RoutePlan& p) { p.expert_ids[0] = -2; });
    refuses("an expert twice", [](RoutePlan& p) {
        p.expert_ids[1] = p.expert_ids[0];
        p.slot_of_token_choice[1] = p.slot_of_token_choice[0];
    });
    refuses("id of an unused choice", [](RoutePlan& p) { p.expert_ids[3] = 2; });
    refuses("count of a token", [](RoutePlan& p) { p.experts_of_token[0] = 2; });
    refuses("negative count of a token", [](RoutePlan& p) { p.experts_of_token[0] = -1; });
    refuses("count above K", [](RoutePlan& p) { p.experts_of_token[0] = 4; });

    CHECK(pool.run(std::span(hidden).first(5 * kHidden), good, output).code() == StatusCode::invalid_argument);
    CHECK(pool.run(hidden, good, std::span(output).first(output.size() - 1)).code() == StatusCode::invalid_argument);
    std::vector<float> both(2 * hidden.size());
    CHECK(
        pool.run(std::span(both).first(hidden.size()), good, std::span(both).subspan(kHidden, hidden.size())).code() ==
        StatusCode::invalid_argument);
    CHECK(pool.counters().tokens == 0);
    CHECK(pool.run(hidden, good, output).is_ok());
}

TEST_CASE("runs of one pool from several threads take turns and give the same bits", "[experts][short][threads]") {
    const test::MixtureCase mixture = small_mixture();
    const ExpertPool pool = pool_of(mixture, 2);
    constexpr std::int64_t kRuns = 20;
    const auto work = [&](std::uint64_t seed, bool& is_same) {
        const std::int64_t tokens = 3 + static_cast<std::int64_t>(seed) * 9;
        const std::vector<float> hidden = test::gaussian_rows(tokens, kHidden, seed);
        const RoutePlan plan = test::random_plan(tokens, 3, kExperts, seed);
        const std::vector<float> expected = test::expected_output(mixture, hidden, plan);
        for (std::int64_t i = 0; i < kRuns; ++i) {
            std::vector<float> output(hidden.size());
            is_same = pool.run(hidden, plan, output).is_ok() &&
                      test::first_difference(output, expected) == output.size() && is_same;
            is_same = pool.counters().tokens > 0 && is_same;
        }
    };
    bool is_same[3] = {true, true, true};
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { work(i, is_same[i]); });
    for (std::thread& thread : threads) thread.join();
    for (const bool same : is_same) CHECK(same);
    CHECK(pool.counters().tokens == kRuns * (3 + 12 + 21));
}
