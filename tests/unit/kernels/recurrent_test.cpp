// Layers with a state: every back-end against the scalar reference for equal bits, and the reference against the
// formulas.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/backend.hpp"
#include "parallel/fp_environment.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

const KernelTable& reference() { return *backends()[0].table; }

std::vector<float> numbers(std::int64_t count, std::uint64_t seed, bool finite = true) {
    test::Random random(seed);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) {
        value = random.gaussian();
        const std::uint32_t kind = random.bits() % 64;
        if (kind == 0) value = -0.0F;
        if (kind == 1) value *= 0x1p-130F;
        if (kind == 2 && !finite) value = std::numeric_limits<float>::infinity();
        if (kind == 3 && !finite) value = std::numeric_limits<float>::quiet_NaN();
    }
    return x;
}

// One head with everything it reads and writes; queries, keys and values of a token lie in one row, as in a forward
// pass.
struct Head {
    std::int64_t tokens, key_width, value_width, stride = 2 * key_width + value_width + 3;
    std::vector<float> inputs, decays, rates, state, output;

    Head(std::int64_t token_count, std::int64_t keys, std::int64_t values, std::uint64_t seed, bool finite = true)
        : tokens(token_count),
          key_width(keys),
          value_width(values),
          inputs(numbers(token_count * stride, seed, finite)),
          decays(numbers(token_count, seed + 1, finite)),
          rates(numbers(token_count, seed + 2, finite)),
          state(numbers((values + 15) / 16 * 16 * keys, seed + 3, finite)),
          output(static_cast<std::size_t>(token_count * values)) {
        // Keys of some length 1, as the rule has them: without it a state grows beyond all bounds.
        for (float& x : inputs) x /= std::sqrt(static_cast<float>(keys));
        for (float& x : decays) x = 1.0F / (1.0F + std::exp(-x));
        for (float& x : rates) x = 1.0F / (1.0F + std::exp(-x));
    }

    void run(const KernelTable& kernels, std::int64_t first, std::int64_t count) {
        const FpEnvironment guard;
        const float* row = inputs.data() + first * stride;
        kernels.delta_rule({row, row + key_width, row + 2 * key_width, decays.data() + first, rates.data() + first,
                            output.data() + first * value_width, state.data(), stride, value_width, count, key_width,
                            value_width});
    }
    float& at(std::int64_t i, std::int64_t j) {
        return state[static_cast<std::size_t>(j / 16 * 16 * key_width + i * 16 + j % 16)];
    }
};

void check_same(const Head& a, const Head& b) {
    CHECK(test::first_difference(a.output, b.output) == b.output.size());
    CHECK(test::first_difference(a.state, b.state) == b.state.size());
}

}  // namespace

TEST_CASE("the gated delta rule has the reference's bits on every back-end, at every width", "[kernels][short]") {
    for (const std::int64_t keys : {1, 2, 3, 4, 7, 16, 30, 64, 128}) {
        for (const std::int64_t values : {1, 5, 15, 16, 17, 33, 128}) {
            for (const bool finite : {true, false}) {
                const Head start(5, keys, values, static_cast<std::uint64_t>(100 * keys + values), finite);
                Head expected = start;
                expected.run(reference(), 0, 5);
                for (const Backend& backend : backends()) {
                    if (!backend.is_supported) continue;
                    INFO(backend.name << ", keys " << keys << ", values " << values << ", finite " << finite);
                    Head head = start;
                    head.run(*backend.table, 0, 5);
                    check_same(head, expected);
                }
            }
        }
    }
}

TEST_CASE("the gated delta rule gives the same bits token by token and all at once", "[kernels][short]") {
    const Head start(37, 32, 24, 5);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        INFO(backend.name);
        Head whole = start, parts = start;
        whole.run(*backend.table, 0, 37);
        for (std::int64_t t = 0; t < 37; t += t < 9 ? 1 : 7) parts.run(*backend.table, t, t < 9 ? 1 : 7);
        check_same(parts, whole);
    }
}

TEST_CASE("the gated delta rule is what its formula says", "[kernels][short]") {
    constexpr std::int64_t kTokens = 20, kKeys = 12, kValues = 21;
    Head head(kTokens, kKeys, kValues, 11);
    std::vector<std::vector<double>> state(kKeys, std::vector<double>(kValues));
    for (std::int64_t i = 0; i < kKeys; ++i)
        for (std::int64_t j = 0; j < kValues; ++j)
            state[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = static_cast<double>(head.at(i, j));
    head.run(reference(), 0, kTokens);
    for (std::int64_t t = 0; t < kTokens; ++t) {
        const float* query = head.inputs.data() + t * head.stride;
        const float *key = query + kKeys, *value = key + kKeys;
        const auto decay = static_cast<double>(head.decays[static_cast<std::size_t>(t)]),
                   rate = static_cast<double>(head.rates[static_cast<std::size_t>(t)]);
        for (std::size_t j = 0; j < kValues; ++j) {
            double recalled = 0, read = 0;
            for (std::size_t i = 0; i < kKeys; ++i) {
                state[i][j] *= decay;
                recalled += state[i][j] * static_cast<double>(key[i]);
            }
            for (std::size_t i = 0; i < kKeys; ++i) {
                state[i][j] += static_cast<double>(key[i]) * (static_cast<double>(value[j]) - recalled) * rate;
                read += state[i][j] * static_cast<double>(query[i]);
            }
            CHECK(static_cast<double>(head.output[static_cast<std::size_t>(t) * kValues + j]) ==
                  Approx(read).epsilon(1e-5).margin(1e-6));
        }
    }
}

TEST_CASE("a row of a causal convolution has the reference's bits on every back-end, and its formula's value",
          "[kernels][short]") {
    for (const std::int64_t count : {1, 7, 16, 31, 64, 100}) {
        for (std::int64_t taps = 1; taps <= 5; ++taps) {
            const std::int64_t stride = count + 3;
            for (const bool finite : {true, false}) {
                const auto seed = static_cast<std::uint64_t>(10 * count + taps);
                const std::vector<float> inputs = numbers(taps * count, seed, finite),
                                         weights = numbers(taps * stride, seed + 1, finite);
                std::vector<const float*> rows;
                for (std::int64_t w = 0; w < taps; ++w) rows.push_back(inputs.data() + w * count);
                const auto size = static_cast<std::size_t>(count);
                std::vector<float> expected(size);
                const FpEnvironment guard;
                reference().convolve_row(rows.data(), weights.data(), stride, taps, count, expected.data());
                for (const Backend& backend : backends()) {
                    if (!backend.is_supported) continue;
                    INFO(backend.name << ", count " << count << ", taps " << taps);
                    std::vector<float> y(size);
                    backend.table->convolve_row(rows.data(), weights.data(), stride, taps, count, y.data());
                    CHECK(test::first_difference(y, expected) == size);
                }
                if (!finite) continue;
                for (std::size_t c = 0; c < size; ++c) {
                    double sum = 0;
                    for (std::size_t w = 0; w < static_cast<std::size_t>(taps); ++w)
                        sum += static_cast<double>(rows[w][c]) *
                               static_cast<double>(weights[w * static_cast<std::size_t>(stride) + c]);
                    CHECK(static_cast<double>(expected[c]) == Approx(sum).epsilon(1e-5).margin(1e-6));
                }
            }
        }
    }
}
