// Draws and filters against the plainest way to write them, over random distributions that are full of ties.
#include <mixtura/sampler.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "kernels/backend.hpp"
#include "support/fp_modes.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

// Softmax, then each filter by a full sort, all in double.
std::vector<double> plain(const std::vector<float>& logits, const SamplingOptions& options) {
    const std::size_t n = logits.size();
    std::vector<double> x(logits.begin(), logits.end());
    for (double& value : x) value /= static_cast<double>(options.temperature.value_or(1));
    const auto softmax = [&] {
        const double top = *std::max_element(x.begin(), x.end());
        std::vector<double> p(n);
        for (std::size_t i = 0; i < n; ++i) p[i] = std::exp(x[i] - top);
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        for (double& value : p) value /= total;
        return p;
    };
    // Keeps the tokens of smallest badness until `mass` is reached, and what ties with the last of them.
    const auto keep = [&](const std::vector<double>& badness, const std::vector<double>& weight, double mass) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return badness[a] < badness[b]; });
        double sum = 0, worst = 0;
        for (const std::size_t i : order) {
            worst = badness[i];
            if ((sum += weight[i]) >= mass) break;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (badness[i] > worst + 1e-9) x[i] = -INFINITY;
        }
    };
    std::vector<double> negative(n);
    const auto negate = [&] {
        for (std::size_t i = 0; i < n; ++i) negative[i] = -x[i];
    };
    if (const int k = options.top_k.value_or(0); k > 0) {
        negate();
        keep(negative, std::vector<double>(n, 1), k);
    }
    if (const float p = options.top_p.value_or(1); p < 1) {
        negate();
        keep(negative, softmax(), static_cast<double>(p));
    }
    if (const float p = options.min_p.value_or(0); p > 0) {
        const std::vector<double> q = softmax();
        const double top = *std::max_element(q.begin(), q.end());
        for (std::size_t i = 0; i < n; ++i) {
            if (q[i] < static_cast<double>(p) * top) x[i] = -INFINITY;
        }
    }
    if (const float p = options.typical_p.value_or(1); p < 1) {
        const std::vector<double> q = softmax();
        double entropy = 0;
        for (const double value : q) entropy -= value > 0 ? value * std::log(value) : 0;
        std::vector<double> deviation(n);
        for (std::size_t i = 0; i < n; ++i) deviation[i] = std::abs(-std::log(q[i]) - entropy);
        keep(deviation, q, static_cast<double>(p));
    }
    return softmax();
}

}  // namespace

TEST_CASE("filters keep what a full sort in double keeps, ties and all", "[sampler][short]") {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 3);
    const auto chance = [&](double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; };
    const auto real = [&](float least, float most) {
        return std::uniform_real_distribution<float>(least, most)(random);
    };
    for (int round = 0; round < 1500; ++round) {
        const std::size_t n = std::uniform_int_distribution<std::size_t>(1, round % 5 == 0 ? 3000 : 40)(random);
        std::vector<float> logits(n);
        for (float& logit : logits) logit = chance(0.05) ? -INFINITY : normal(random);
        if (chance(0.5)) {
            for (float& logit : logits) logit = std::round(logit * 2) / 2;  // ties
        }
        logits[n / 2] = 1;
        SamplingOptions options;
        if (chance(0.5)) options.temperature = real(0.2F, 3.0F);
        if (chance(0.4)) options.top_k = std::uniform_int_distribution<std::int32_t>(1, chance(0.5) ? 3000 : 8)(random);
        if (chance(0.4)) options.top_p = real(0.01F, 0.999F);
        if (chance(0.4)) options.min_p = real(0.001F, 1.0F);
        if (chance(0.3)) options.typical_p = real(0.05F, 0.999F);
        auto sampler = Sampler::create(static_cast<std::int64_t>(n), options);
        REQUIRE(sampler.is_ok());
        const auto found = sampler->probabilities(logits, {});
        REQUIRE(found.is_ok());
        const std::vector<double> expected = plain(logits, options);
        for (std::size_t i = 0; i < n; ++i) {
            if (std::abs(static_cast<double>((*found)[i]) - expected[i]) > 1e-6) {
                FAIL("round " << round << ", token " << i << " of " << n << ": " << (*found)[i] << ", expected "
                              << expected[i]);
            }
        }
    }
}

TEST_CASE("draws follow the distribution", "[sampler][short]") {
    // Chi-square with 19 degrees of freedom: a fair sampler exceeds 66 once in 4 million seeds; the seeds are fixed.
    std::vector<float> logits(400, -INFINITY);  // the tokens that may come lie in two blocks of the search
    for (std::size_t i = 0; i < 20; ++i) logits[i * 20 + 3] = 0.15F * static_cast<float>(i);
    constexpr int kDraws = 10'000;
    const std::vector<TokenId> history(kDraws, 0);
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{42}, ~std::uint64_t{0}}) {
        auto by_position = Sampler::create(400, {.seed = seed});
        std::vector<double> counts(400), counts_by_completion(400);
        for (std::size_t i = 0; i < kDraws; ++i) {
            ++counts[static_cast<std::size_t>(by_position->sample(logits, {std::span(history).first(i), 0})->token)];
            auto one = Sampler::create(400, {.seed = seed, .completion = i});
            ++counts_by_completion[static_cast<std::size_t>(one->sample(logits, {})->token)];
        }
        const auto p = by_position->probabilities(logits, {});
        double chi_square = 0, chi_square_by_completion = 0;
        for (std::size_t i = 0; i < 400; ++i) {
            const double expected = static_cast<double>((*p)[i]) * kDraws;
            if (expected == 0) {
                CHECK(counts[i] + counts_by_completion[i] == 0);
                continue;
            }
            chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
            chi_square_by_completion +=
                (counts_by_completion[i] - expected) * (counts_by_completion[i] - expected) / expected;
        }
        CHECK(chi_square < 66);
        CHECK(chi_square_by_completion < 66);
        CHECK(chi_square > 2);  // nor suspiciously even
    }
}

TEST_CASE("a draw is a function of seed, position and completion alone", "[sampler][short]") {
    std::mt19937 random(3);
    std::vector<float> logits(1000);
    for (float& logit : logits) logit = std::normal_distribution<float>(0, 2)(random);
    const auto text = [&](SamplingOptions options, std::vector<TokenId> start, std::size_t length) {
        auto sampler = Sampler::create(1000, std::move(options));
        while (start.size() < length) {
            start.push_back(sampler->sample(logits, {start, 2})->token);
        }
        return start;
    };
    const SamplingOptions options{.presence_penalty = 0.3F, .temperature = 0.9F, .top_p = 0.95F, .seed = 42};
    const std::vector<TokenId> alone = text(options, {5, 6}, 60);
    CHECK(text(options, {5, 6}, 60) == alone);

    // Among others, in any interleaving and on shared memory.
    auto mine = Sampler::create(1000, options);
    auto other = Sampler::create(1000, {.top_k = 7, .seed = 9}, &*mine);
    std::vector<TokenId> history = {5, 6};
    while (history.size() < 60) {
        for (std::size_t i = 0; i < history.size() % 3; ++i) CHECK(other->sample(logits, {history, 1}).is_ok());
        history.push_back(mine->sample(logits, {history, 2})->token);
    }
    CHECK(history == alone);

    // A text continued from its middle by a new sampler goes on as it would have.
    CHECK(text(options, {alone.begin(), alone.begin() + 30}, 60) == alone);

    SamplingOptions second = options, reseeded = options;
    second.completion = 1;
    reseeded.seed = 43;
    CHECK(text(second, {5, 6}, 60) != alone);
    CHECK(text(reseeded, {5, 6}, 60) != alone);
    CHECK(text(reseeded, {5, 6}, 60) != text(second, {5, 6}, 60));
}

TEST_CASE("neither the host's floating-point mode nor the instruction set changes a draw", "[sampler][short]") {
    std::mt19937 random(5);
    std::vector<float> logits(3000);
    for (float& logit : logits) logit = std::normal_distribution<float>(0, 3)(random);
    const std::vector<SamplingOptions> settings = {
        {.temperature = 0.8F},
        {.repetition_penalty = 1.1F, .temperature = 1.3F, .top_k = 40, .top_p = 0.9F, .seed = 3},
        {.temperature = 0.7F, .min_p = 0.01F, .typical_p = 0.8F, .logprobs = 5}};
    const auto answers = [&] {
        std::vector<float> out;
        for (const SamplingOptions& options : settings) {
            auto sampler = Sampler::create(3000, options);
            std::vector<TokenId> history = {1, 2};
            for (int i = 0; i < 10; ++i) {
                const auto sampled = sampler->sample(logits, {history, 2});
                history.push_back(sampled->token);
                out.insert(out.end(),
                           {static_cast<float>(sampled->token), sampled->probability, sampled->logprob.value_or(0)});
            }
            const auto p = sampler->probabilities(logits, {history, 2});
            out.insert(out.end(), p->begin(), p->end());
        }
        return out;
    };
    const std::vector<float> expected = answers();
    for (const test::FpMode mode : test::kFpModes) {
        std::vector<float> found;
        {
            const test::HostFpMode host(mode);
            found = answers();
        }
        CHECK(test::first_difference(found, expected) == expected.size());
    }
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        REQUIRE(::setenv("MIXTURA_FORCE_ISA", std::string(backend.name).c_str(), 1) == 0);
        INFO(backend.name);
        CHECK(test::first_difference(answers(), expected) == expected.size());
    }
    REQUIRE(::unsetenv("MIXTURA_FORCE_ISA") == 0);
}

TEST_CASE("a token of no weight is never drawn", "[sampler][short]") {
    // Weights that underflow to 0 around one that does not; 256 and more of them, so that whole blocks weigh nothing.
    std::vector<float> logits(1200, -500.0F);
    logits[700] = 0;
    auto sampler = Sampler::create(1200, {});
    const std::vector<TokenId> history(500, 0);
    for (std::size_t i = 0; i < history.size(); ++i) {
        const auto sampled = sampler->sample(logits, {std::span(history).first(i), 0});
        REQUIRE(sampled.is_ok());
        REQUIRE(sampled->token == 700);
        REQUIRE(sampled->probability == 1.0F);
    }
}
