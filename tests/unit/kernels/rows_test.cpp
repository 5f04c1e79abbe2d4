#include "kernels/rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/backend.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"
#include "kernels/ref/ref.hpp"
#include "kernels/rope.hpp"
#include "parallel/thread_pool.hpp"
#include "support/fp_modes.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

const KernelTable& reference() { return *backends()[0].table; }

// Values of every kind: gaussians of many sizes, zeros of both signs, denormals, infinities and NaN where asked for.
std::vector<float> assorted(std::int64_t count, std::uint64_t seed, bool finite) {
    test::Random random(seed);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) {
        const std::uint32_t kind = random.bits() % 32;
        value = random.gaussian() * std::exp2(random.uniform() * 6.0F);
        if (kind == 0) value = 0.0F;
        if (kind == 1) value = -0.0F;
        if (kind == 2) value *= 0x1p-130F;
        if (kind == 3) value *= 0x1p40F;
        if (kind == 4 && !finite) value = random.bits() % 2 == 0 ? kInfinity : -kInfinity;
        if (kind == 5 && !finite) value = kNan;
    }
    return x;
}

// Every back-end's version of `compute(kernels, y)` has the reference's bits, in every mode of the host.
template <class Compute>
void check_equal(std::size_t count, const Compute& compute) {
    std::vector<float> expected(count, -5.0F);
    {
        const FpEnvironment guard;
        compute(reference(), expected.data());
    }
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        std::vector<float> y(count, -5.0F);
        {
            const FpEnvironment guard;
            compute(*backend.table, y.data());
        }
        INFO(backend.name << ", count " << count);
        REQUIRE(test::first_difference(y, expected) == count);
    }
}

}  // namespace

TEST_CASE("sums go to accumulator k mod 16 and then down the tree 8-4-2-1", "[kernels][short]") {
    std::vector<float> x(37);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = 1.0F / static_cast<float>(3 * k + 1);
    float a[16] = {};
    for (std::size_t k = 0; k < x.size(); ++k) a[k % 16] = a[k % 16] + x[k];
    const float b0 = (a[0] + a[8]) + (a[4] + a[12]), b1 = (a[1] + a[9]) + (a[5] + a[13]);
    const float b2 = (a[2] + a[10]) + (a[6] + a[14]), b3 = (a[3] + a[11]) + (a[7] + a[15]);
    CHECK(sum_f32(x.data(), 37) == (b0 + b2) + (b1 + b3));
    CHECK(sum_f32(x.data(), 0) == 0.0F);
    CHECK(max_f32(x.data(), 0) == -kInfinity);
    const float zeros[] = {-0.0F, 0.0F, -0.0F};
    CHECK_FALSE(std::signbit(max_f32(zeros, 1)));
    const float with_nan[] = {-3.0F, kNan, -2.0F};
    CHECK(max_f32(with_nan, 3) == -2.0F);
}

TEST_CASE("activations are quantised to the nearest of 255 steps, ties to even", "[kernels][short]") {
    std::vector<float> x(64, 0.0F);
    x[0] = 127.0F;
    x[1] = -127.0F;
    x[2] = 0.5F;
    x[3] = 1.5F;
    x[4] = -2.5F;
    x[17] = 126.49F;
    x[40] = 0x1.fffffep-101F;  // the second block's largest: just under the threshold
    ActivationBlock blocks[2];
    reference().quantise_row(x.data(), 64, blocks);
    CHECK(blocks[0].d == 1.0F);
    CHECK(std::vector<int>(blocks[0].q, blocks[0].q + 5) == std::vector<int>{127, -127, 0, 2, -2});
    CHECK(blocks[0].q[17] == 126);
    CHECK(blocks[0].scaled_sum_low == 0.0F);
    CHECK(blocks[0].scaled_sum_high == 126.0F);
    CHECK(blocks[0].scaled_sum == 126.0F);
    CHECK(blocks[0].start_low == kSumBaseBits);
    CHECK(blocks[0].start_high == kSumBaseBits - 128 * 126);
    CHECK(f32_from_bits(static_cast<std::uint32_t>(blocks[0].start)) == kSumBase - 128.0F * 126.0F);
    CHECK(blocks[1].d == 0.0F);
    CHECK(blocks[1].q[8] == 0);
    x[40] = 0x1p-100F;
    reference().quantise_row(x.data(), 64, blocks);
    CHECK(blocks[1].q[8] == 127);
    x[5] = kInfinity;
    x[41] = kNan;
    reference().quantise_row(x.data(), 64, blocks);
    CHECK((std::isnan(blocks[0].d) && blocks[0].q[0] == 0 && blocks[0].start == kSumBaseBits));
    CHECK(std::isnan(blocks[1].d));
}

TEST_CASE("quantisation has the reference's bits on every back-end", "[kernels][short]") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const std::vector<float> x =
            seed % 2 == 0 ? test::random_activations(8, 256, seed) : assorted(2048, seed, seed % 4 == 1);
        std::vector<ActivationBlock> expected(64);
        reference().quantise_row(x.data(), 2048, expected.data());
        for (const Backend& backend : backends()) {
            if (!backend.is_supported) continue;
            std::vector<ActivationBlock> blocks(64);
            backend.table->quantise_row(x.data(), 2048, blocks.data());
            for (std::size_t b = 0; b < 64; ++b) {
                INFO(backend.name << " block " << b);
                REQUIRE(std::equal(blocks[b].q, blocks[b].q + 32, expected[b].q));
                REQUIRE(test::same_bits(blocks[b].d, expected[b].d));
                REQUIRE(test::same_bits(blocks[b].scaled_sum, expected[b].scaled_sum));
                REQUIRE(test::same_bits(blocks[b].scaled_sum_low, expected[b].scaled_sum_low));
                REQUIRE(test::same_bits(blocks[b].scaled_sum_high, expected[b].scaled_sum_high));
                REQUIRE(blocks[b].start == expected[b].start);
                REQUIRE(blocks[b].start_low == expected[b].start_low);
                REQUIRE(blocks[b].start_high == expected[b].start_high);
            }
        }
    }
}

TEST_CASE("functions of rows have the reference's bits on every back-end, at every length", "[kernels][short]") {
    for (std::int64_t n = 1; n < 130; n += n < 70 ? 1 : 7) {
        const auto count = static_cast<std::size_t>(n);
        for (const bool finite : {true, false}) {
            const std::vector<float> x = assorted(n, count, finite), w = assorted(n, count + 1000, finite),
                                     b = assorted(n, count + 2000, finite);
            check_equal(count,
                        [&](const KernelTable& k, float* y) { k.rms_norm_row(x.data(), w.data(), 1e-6F, n, y); });
            check_equal(count, [&](const KernelTable& k, float* y) { k.rms_norm_row(x.data(), nullptr, 1e-5F, n, y); });
            check_equal(count, [&](const KernelTable& k, float* y) {
                k.layer_norm_row(x.data(), w.data(), b.data(), 1e-5F, n, y);
            });
            check_equal(count, [&](const KernelTable& k, float* y) {
                k.layer_norm_row(x.data(), w.data(), nullptr, 1e-5F, n, y);
            });
            check_equal(count, [&](const KernelTable& k, float* y) {
                k.layer_norm_row(x.data(), nullptr, nullptr, 1e-5F, n, y);
            });
            check_equal(count, [&](const KernelTable& k, float* y) { k.softmax_row(x.data(), n, y); });
            for (const Activation kind : {Activation::silu, Activation::gelu_erf, Activation::gelu_tanh,
                                          Activation::quick_gelu, Activation::relu, Activation::sigmoid}) {
                check_equal(count, [&](const KernelTable& k, float* y) { k.activate(kind, x.data(), n, y); });
                check_equal(count, [&](const KernelTable& k, float* y) {
                    k.activate_gated({.kind = kind}, x.data(), w.data(), n, y);
                });
            }
            check_equal(count, [&](const KernelTable& k, float* y) {
                k.activate_gated({.limit = 7.0F}, x.data(), w.data(), n, y);
            });
            check_equal(count, [&](const KernelTable& k, float* y) { k.add(x.data(), w.data(), n, y); });
            check_equal(count, [&](const KernelTable& k, float* y) {
                std::copy(w.begin(), w.end(), y);
                k.add_scaled(x.data(), 0.37F, n, y);
            });
            check_equal(count, [&](const KernelTable& k, float* y) { k.scale(x.data(), 1.7F, n, y); });
            check_equal(count, [&](const KernelTable& k, float* y) { k.divide(x.data(), 1.7F, n, y); });
            if (n % 2 != 0) continue;
            for (const RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
                check_equal(count, [&](const KernelTable& k, float* y) {
                    std::copy(x.begin(), x.end(), y);
                    k.rotate(pairing, w.data(), b.data(), n / 2, y);
                });
            }
        }
    }
}

TEST_CASE("rows stored for the cache are rounded to nearest even on every back-end", "[kernels][short]") {
    std::vector<float> x = assorted(4096, 5, false);
    for (std::size_t i = 0; i < 2048; ++i)
        x[i] = f16_to_f32(static_cast<std::uint16_t>(i * 31)) * (1.0F + 0x1p-11F);  // ties
    for (std::size_t i = 2048; i < 3000; ++i)
        x[i] = f32_from_bits(static_cast<std::uint32_t>(i * 2654435761U) | 0x8000U);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        for (const std::int64_t n : {1, 7, 16, 33, 4096}) {
            std::vector<std::byte> expected(4096 * 4), out(4096 * 4);
            reference().store_row(dtype, x.data(), n, expected.data());
            for (const Backend& backend : backends()) {
                if (!backend.is_supported) continue;
                backend.table->store_row(dtype, x.data(), n, out.data());
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto at = static_cast<std::size_t>(i);
                    REQUIRE(test::same_bits(ref::load_plain(dtype, out.data(), at),
                                            ref::load_plain(dtype, expected.data(), at)));
                }
            }
        }
    }
}

TEST_CASE("activation functions are what their formulas say", "[kernels][short]") {
    for (int i = -400; i <= 400; ++i) {
        const float x = static_cast<float>(i) / 32.0F;
        const double d = x;
        const double u = std::sqrt(2 / 3.14159265358979324) * (d + 0.044715 * d * d * d);
        CHECK(activation_f32(Activation::silu, x) == Approx(d / (1 + std::exp(-d))).epsilon(1e-6).margin(1e-7));
        CHECK(activation_f32(Activation::gelu_erf, x) ==
              Approx(0.5 * d * (1 + std::erf(d / std::sqrt(2.0)))).epsilon(1e-6).margin(2e-6));
        CHECK(activation_f32(Activation::gelu_tanh, x) ==
              Approx(0.5 * d * (1 + std::tanh(u))).epsilon(1e-5).margin(1e-7));
        CHECK(activation_f32(Activation::quick_gelu, x) ==
              Approx(d / (1 + std::exp(-1.702 * d))).epsilon(1e-5).margin(1e-7));
        CHECK(activation_f32(Activation::relu, x) == std::max(x, 0.0F));
        const double g = std::min(d, 7.0), up = std::min(std::max(2 * d, -7.0), 7.0);
        CHECK(gated_activation_f32({.limit = 7.0F}, x, 2 * x) ==
              Approx((up + 1) * g / (1 + std::exp(-1.702 * g))).epsilon(1e-5).margin(1e-6));
    }
    CHECK(std::isnan(activation_f32(Activation::relu, kNan)));
}

TEST_CASE("norms and softmax are what their formulas say", "[kernels][short]") {
    test::Random random(3);
    std::vector<float> x(1000), w(1000), b(1000), y(1000);
    double square = 0, sum = 0, top = -1e9;
    for (std::size_t i = 0; i < 1000; ++i) {
        x[i] = random.gaussian() + 0.5F;
        w[i] = random.gaussian();
        b[i] = random.gaussian();
        square += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        sum += static_cast<double>(x[i]);
        top = std::max(top, static_cast<double>(x[i]));
    }
    const double mean = sum / 1000, variance = square / 1000 - mean * mean;
    SerialFor alone;
    rms_norm(reference(), alone, {x.data(), 1000}, w.data(), 1e-5F, 1, 1000, {y.data(), 1000});
    for (std::size_t i = 0; i < 1000; ++i)
        CHECK(y[i] == Approx(static_cast<double>(x[i]) / std::sqrt(square / 1000 + 1e-5) * static_cast<double>(w[i]))
                          .epsilon(1e-5)
                          .margin(1e-6));
    layer_norm(reference(), alone, {x.data(), 1000}, w.data(), b.data(), 1e-5F, 1, 1000, {y.data(), 1000});
    for (std::size_t i = 0; i < 1000; ++i) {
        CHECK(y[i] ==
              Approx((static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(w[i]) +
                     static_cast<double>(b[i]))
                  .epsilon(1e-4)
                  .margin(1e-5));
    }
    double total = 0;
    for (const float value : x) total += std::exp(static_cast<double>(value) - top);
    softmax(reference(), alone, {x.data(), 1000}, 1, 1000, {y.data(), 1000});
    for (std::size_t i = 0; i < 1000; ++i)
        CHECK(y[i] == Approx(std::exp(static_cast<double>(x[i]) - top) / total).epsilon(1e-5));
}

TEST_CASE("rows are shared among threads without changing a bit, whatever the host's mode", "[kernels][short]") {
    const std::int64_t rows = 37, columns = 300;
    const std::vector<float> x = assorted(rows * columns, 9, true), w = assorted(columns, 10, true);
    std::vector<float> expected(x.size());
    SerialFor alone;
    rms_norm(reference(), alone, {x.data(), columns}, w.data(), 1e-6F, rows, columns, {expected.data(), columns});
    for (const test::FpMode mode : test::kFpModes) {
        for (const int threads : {1, 3}) {
            std::vector<float> y(x.size());
            {
                const test::HostFpMode host(mode);
                auto pool = ThreadPool::create(threads);
                rms_norm(reference(), **pool, {x.data(), columns}, w.data(), 1e-6F, rows, columns, {y.data(), columns});
            }
            CHECK(test::first_difference(y, expected) == y.size());
        }
    }
}

TEST_CASE("a rotary embedding turns pairs by position times frequency, in either pairing", "[kernels][short]") {
    const std::vector<std::int32_t> positions{0, 1, 5, 4095, 131072};
    const std::int64_t pairs = 4, heads = 2, width = 10;  // two elements of each head are not turned
    std::vector<float> frequencies{1.0F, 0.1F, 0.01F, 0.001F};
    std::vector<float> cosines(20), sines(20);
    SerialFor alone;
    rope_table(alone, positions.data(), 5, frequencies.data(), pairs, 1.5F, cosines.data(), sines.data());
    for (const RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
        const std::vector<float> x = assorted(5 * heads * width, 77, true);
        std::vector<float> y = x;
        rope_rotate(reference(), alone, pairing, cosines.data(), sines.data(), pairs, y.data(), 5, heads * width, heads,
                    width);
        for (std::size_t t = 0; t < 5; ++t) {
            for (std::size_t h = 0; h < 2; ++h) {
                const std::size_t base = (t * 2 + h) * 10;
                for (std::size_t i = 0; i < 4; ++i) {
                    const std::size_t first = pairing == RopePairing::half ? i : 2 * i,
                                      second = pairing == RopePairing::half ? i + 4 : 2 * i + 1;
                    const float angle = static_cast<float>(positions[t]) * frequencies[i];
                    const double c = 1.5 * std::cos(static_cast<double>(angle)),
                                 s = 1.5 * std::sin(static_cast<double>(angle));
                    const double a = x[base + first], b = x[base + second],
                                 margin = 1e-5 * (std::fabs(a) + std::fabs(b)) + 1e-30;
                    CHECK(std::fabs(y[base + first] - (a * c - b * s)) < margin);
                    CHECK(std::fabs(y[base + second] - (b * c + a * s)) < margin);
                }
                CHECK(y[base + 8] == x[base + 8]);
                CHECK(y[base + 9] == x[base + 9]);
            }
        }
    }
}
