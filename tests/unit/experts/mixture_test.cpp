#include "experts/mixture.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/backend.hpp"
#include "parallel/thread_pool.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"
#include "unit/experts/mixture_case.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kExperts = 5, kChoices = 3;
constexpr std::int64_t kTokenCounts[] = {1, 2, 3, 7, 33, 200};
constexpr DType kFormats[] = {DType::f32,  DType::bf16, DType::f16,  DType::q8_0,
                              DType::q4_k, DType::q6_k, DType::q4_0, DType::mxfp4};

bool is_plain(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16; }

// Small, and no rounder than the format asks for.
ExpertSpec sizes_for(DType dtype) {
    const std::int64_t unit = dtype_info(dtype).block_elements;
    ExpertSpec sizes{.hidden_size = 96, .expert_count = kExperts, .width = 64, .shared_width = 96};
    if (is_plain(dtype)) sizes = {.hidden_size = 50, .expert_count = kExperts, .width = 37, .shared_width = 21};
    if (unit == 256) sizes = {.hidden_size = 256, .expert_count = kExperts, .width = 256, .shared_width = 256};
    return sizes;
}

std::vector<test::MixtureVariant> variants() {
    std::vector<test::MixtureVariant> all;
    for (const bool is_gated : {true, false}) {
        for (const bool has_bias : {false, true}) {
            for (const bool is_clamped : {false, true}) {
                for (const WeightAt weight_at : {WeightAt::output, WeightAt::input}) {
                    for (const auto shared :
                         {test::SharedKind::none, test::SharedKind::plain, test::SharedKind::weighed}) {
                        if (is_clamped && !is_gated) continue;
                        all.push_back({is_gated, has_bias, is_clamped, weight_at, shared});
                    }
                }
            }
        }
    }
    return all;
}

std::vector<std::int64_t> first_tokens(std::int64_t count) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

struct Pools {
    SerialFor alone;
    std::unique_ptr<ThreadPool> two = *ThreadPool::create(2);
    std::unique_ptr<ThreadPool> three = *ThreadPool::create(3);
    ParallelFor& operator[](std::size_t i) {
        if (i == 0) return alone;
        return i == 1 ? *two : *three;
    }
};

// The first `count` tokens on every back-end.
void check(const test::MixtureCase& mixture, const std::vector<float>& hidden, const RoutePlan& plan,
           const std::vector<float>& expected, std::int64_t count, ParallelFor& threads) {
    const std::int64_t h = mixture.spec.hidden_size;
    const std::vector<std::int64_t> tokens = first_tokens(count);
    const std::vector<float> want = test::rows_of(expected, h, tokens);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        const std::vector<float> got =
            test::run(mixture, *backend.table, threads, test::rows_of(hidden, h, tokens), test::plan_of(plan, tokens));
        const std::size_t at = test::first_difference(got, want);
        INFO(dtype_name(mixture.experts[0].up.dtype)
             << " " << backend.name << " " << count << " tokens, " << threads.thread_count()
             << " threads, first difference at token " << at / static_cast<std::size_t>(h));
        REQUIRE(at == want.size());
    }
}

}  // namespace

TEST_CASE("a mixture has the formulas' bits for every variant, format, back-end and number of tokens and threads",
          "[experts][short]") {
    Pools pools;
    std::size_t turn = 0;
    for (const DType dtype : kFormats) {
        for (const test::MixtureVariant& variant : variants()) {
            const test::MixtureCase mixture = test::random_mixture(sizes_for(dtype), variant, {dtype}, turn);
            // Each variant meets one number of tokens and threads, the list as a whole all pairs in every format.
            const std::int64_t count = kTokenCounts[turn % 6] == 200 && turn % 4 != 0 ? 13 : kTokenCounts[turn % 6];
            const std::vector<float> hidden = test::random_activations(count, mixture.spec.hidden_size, turn);
            const RoutePlan plan = test::random_plan(count, kChoices, kExperts, turn);
            check(mixture, hidden, plan, test::expected_output(mixture, hidden, plan), count, pools[turn / 6 % 3]);
            ++turn;
        }
    }
}

TEST_CASE("a token's output does not depend on how many others there are, or on the threads", "[experts][short]") {
    Pools pools;
    const test::MixtureVariant variant{.has_bias = true, .shared = test::SharedKind::weighed};
    for (const DType dtype : {DType::q4_k, DType::q8_0, DType::bf16}) {
        const test::MixtureCase mixture = test::random_mixture(sizes_for(dtype), variant, {dtype}, 5);
        const std::vector<float> hidden = test::random_activations(200, mixture.spec.hidden_size, 6);
        const RoutePlan plan = test::random_plan(200, kChoices, kExperts, 7);
        const std::vector<float> expected = test::expected_output(mixture, hidden, plan);
        for (std::size_t i = 0; i < 3; ++i) {
            for (const std::int64_t count : kTokenCounts) check(mixture, hidden, plan, expected, count, pools[i]);
        }
    }
}

TEST_CASE("experts of one layer may have different formats", "[experts][short]") {
    Pools pools;
    const std::vector<DType> formats{DType::q4_k, DType::f32, DType::q6_k, DType::f8_e4m3, DType::q8_0, DType::bf16};
    for (const WeightAt weight_at : {WeightAt::output, WeightAt::input}) {
        const test::MixtureVariant variant{.weight_at = weight_at, .shared = test::SharedKind::weighed};
        ExpertSpec sizes = sizes_for(DType::q4_k);
        sizes.expert_count = 6;
        const test::MixtureCase mixture = test::random_mixture(sizes, variant, formats, 11);
        const std::vector<float> hidden = test::gaussian_rows(40, sizes.hidden_size, 12);
        const RoutePlan plan = test::random_plan(40, 4, 6, 13);
        check(mixture, hidden, plan, test::expected_output(mixture, hidden, plan), 40, pools[1]);
    }
}

TEST_CASE("every activation has the formulas' bits", "[experts][short]") {
    Pools pools;
    for (const bool is_gated : {true, false}) {
        for (const auto activation : {ExpertActivation::silu, ExpertActivation::gelu, ExpertActivation::gelu_tanh,
                                      ExpertActivation::quick_gelu, ExpertActivation::relu}) {
            ExpertSpec sizes = sizes_for(DType::f16);
            sizes.activation = activation;
            const test::MixtureCase mixture =
                test::random_mixture(sizes, {.is_gated = is_gated, .has_bias = true}, {DType::f16}, 21);
            const std::vector<float> hidden = test::gaussian_rows(9, sizes.hidden_size, 22);
            const RoutePlan plan = test::random_plan(9, kChoices, kExperts, 23);
            check(mixture, hidden, plan, test::expected_output(mixture, hidden, plan), 9, pools[1]);
        }
    }
}

TEST_CASE("a mixture of plain formats is within 1e-5 of the exact sum", "[experts][short]") {
    SerialFor alone;
    std::uint64_t seed = 1;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const test::MixtureVariant& variant : variants()) {
            const test::MixtureCase mixture = test::random_mixture(sizes_for(dtype), variant, {dtype}, seed);
            const std::vector<float> hidden = test::gaussian_rows(7, mixture.spec.hidden_size, seed);
            const RoutePlan plan = test::random_plan(7, kChoices, kExperts, seed);
            const std::vector<double> exact = test::exact_output(mixture, hidden, plan);
            const std::vector<float> got = test::run(mixture, *(*choose_backend())->table, alone, hidden, plan);
            double largest = 0, error = 0;
            for (std::size_t i = 0; i < exact.size(); ++i) {
                largest = std::max(largest, std::fabs(exact[i]));
                error = std::max(error, std::fabs(exact[i] - static_cast<double>(got[i])));
            }
            INFO(dtype_name(dtype) << " variant " << seed);
            CHECK(error < 1e-5 * largest);
            ++seed;
        }
    }
}

TEST_CASE("a token alone has the bits it has in company, wherever it stands", "[experts][short][threads]") {
    Pools pools;
    const KernelTable& kernels = *(*choose_backend())->table;
    for (const DType dtype : {DType::q4_k, DType::q4_0, DType::f32}) {
        for (const WeightAt weight_at : {WeightAt::output, WeightAt::input}) {
            const test::MixtureCase mixture = test::random_mixture(
                sizes_for(dtype), {.weight_at = weight_at, .shared = test::SharedKind::weighed}, {dtype}, 31);
            const std::int64_t h = mixture.spec.hidden_size, count = 150;
            const std::vector<float> hidden = test::random_activations(count, h, 32);
            const RoutePlan plan = test::random_plan(count, kChoices, kExperts, 33);
            const std::vector<float> together = test::run(mixture, kernels, pools[1], hidden, plan);
            for (const std::int64_t t : {0, 1, 17, 64, 149}) {
                const std::vector<float> own =
                    test::run(mixture, kernels, pools[0], test::rows_of(hidden, h, {t}), test::plan_of(plan, {t}));
                REQUIRE(test::first_difference(own, test::rows_of(together, h, {t})) == own.size());
            }
            std::vector<std::int64_t> shuffled = first_tokens(count);
            test::Random random(34);
            for (std::size_t i = shuffled.size() - 1; i > 0; --i)
                std::swap(shuffled[i], shuffled[random.bits() % (i + 1)]);
            const std::vector<float> permuted = test::run(
                mixture, kernels, pools[2], test::rows_of(hidden, h, shuffled), test::plan_of(plan, shuffled));
            REQUIRE(test::first_difference(permuted, test::rows_of(together, h, shuffled)) == permuted.size());
        }
    }
}

TEST_CASE("a token that is not finite leaves the others alone", "[experts][short]") {
    Pools pools;
    const KernelTable& kernels = *(*choose_backend())->table;
    for (const DType dtype : kFormats) {
        for (const WeightAt weight_at : {WeightAt::output, WeightAt::input}) {
            const test::MixtureCase mixture = test::random_mixture(
                sizes_for(dtype), {.weight_at = weight_at, .shared = test::SharedKind::weighed}, {dtype}, 41);
            const std::int64_t h = mixture.spec.hidden_size;
            std::vector<float> hidden = test::gaussian_rows(20, h, 42);
            RoutePlan plan = test::random_plan(20, kChoices, kExperts, 43);
            const std::vector<float> clean = test::run(mixture, kernels, pools[1], hidden, plan);
            hidden[static_cast<std::size_t>(6 * h + 5)] = std::numeric_limits<float>::quiet_NaN();
            hidden[static_cast<std::size_t>(13 * h)] = std::numeric_limits<float>::infinity();
            plan.weights[static_cast<std::size_t>(16 * kChoices)] = std::numeric_limits<float>::quiet_NaN();
            const std::vector<float> got = test::run(mixture, kernels, pools[1], hidden, plan);
            for (std::int64_t t = 0; t < 20; ++t) {
                const std::vector<float> row = test::rows_of(got, h, {t}), before = test::rows_of(clean, h, {t});
                if (t == 6 || t == 16) {
                    CHECK(std::all_of(row.begin(), row.end(), [](float y) { return std::isnan(y); }));
                } else if (t != 13) {
                    CHECK(test::first_difference(row, before) == row.size());
                }
            }
        }
    }
}

TEST_CASE("a mixture without shared expert gives zeros to a token without a choice", "[experts][short]") {
    SerialFor alone;
    const test::MixtureCase mixture = test::random_mixture(sizes_for(DType::q8_0), {}, {DType::q8_0}, 51);
    const std::vector<float> hidden = test::gaussian_rows(1, mixture.spec.hidden_size, 52);
    for (const std::int64_t choices : {0, 2}) {
        RoutePlan plan{.tokens = 1, .choices = choices, .experts = kExperts};
        plan.expert_ids.assign(static_cast<std::size_t>(choices), -1);
        plan.weights.assign(static_cast<std::size_t>(choices), 0.0F);
        test::group(plan);
        const std::vector<float> got = test::run(mixture, *(*choose_backend())->table, alone, hidden, plan);
        CHECK(test::first_difference(got, std::vector<float>(hidden.size(), 0.0F)) == got.size());
    }
}

TEST_CASE("scratch is kept, grows, and refuses sizes that leave the numbers", "[experts][short]") {
    const ExpertSpec spec{.hidden_size = 96, .expert_count = 5, .width = 64, .shared_width = 32};
    MixtureScratch scratch;
    REQUIRE(scratch.reserve(spec, 10, 3).is_ok());
    const std::byte* first = scratch.data();
    REQUIRE(scratch.reserve(spec, 4, 3).is_ok());
    CHECK(scratch.data() == first);
    CHECK(MixtureScratch::bytes(spec, 10, 3) > MixtureScratch::bytes(spec, 10, 2));
    CHECK(MixtureScratch::bytes(spec, 10, 3) > MixtureScratch::bytes(spec, 9, 3));
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    CHECK(scratch.reserve(spec, kHuge, 2).code() == StatusCode::out_of_host_memory);
    CHECK(scratch.reserve(spec, 2, kHuge).code() == StatusCode::out_of_host_memory);
    CHECK(scratch.data() == first);
}
