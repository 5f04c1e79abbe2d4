#include "kernels/math.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace mixtura;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

// Distance of `value` from `exact` in units of the last place that an f32 of the exact value's size has.
double ulp_error(float value, long double exact) {
    if (std::isnan(exact)) return std::isnan(value) ? 0.0 : 1e9;
    // From the middle between the largest f32 and 2^128 on the nearest f32 is infinite.
    if (std::fabs(exact) >= 0x1.ffffffp127L) return std::isinf(value) && (value > 0) == (exact > 0) ? 0.0 : 1e9;
    if (!std::isfinite(value)) return 1e9;
    const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
    return static_cast<double>(std::fabs(static_cast<long double>(value) - exact) / std::ldexp(1.0L, exponent - 23));
}

// The largest error over every `stride`-th bit pattern in [first, last].
template <class Ours, class Exact>
double largest_error(std::uint32_t first, std::uint32_t last, std::uint32_t stride, Ours ours, Exact exact) {
    double largest = 0;
    for (std::uint64_t bits = first; bits <= last; bits += stride) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        largest = std::max(largest, ulp_error(ours(x), exact(static_cast<long double>(x))));
    }
    return largest;
}

// Both signs, zeros to infinities and some NaNs.
template <class Ours, class Exact>
double largest_error_anywhere(std::uint32_t stride, Ours ours, Exact exact) {
    return std::max(largest_error(0, 0x7FC0'0000, stride, ours, exact),
                    largest_error(0x8000'0000, 0xFFC0'0000, stride, ours, exact));
}

void check_errors(std::uint32_t stride) {
    CHECK(largest_error_anywhere(stride, exp_f32, [](long double x) { return std::exp(x); }) < 0.88);
    CHECK(largest_error_anywhere(stride, tanh_f32, [](long double x) { return std::tanh(x); }) < 1.51);
    CHECK(largest_error_anywhere(stride, erf_f32, [](long double x) { return std::erf(x); }) < 1.07);
    CHECK(largest_error_anywhere(stride, log_f32, [](long double x) { return std::log(x); }) < 0.5001);
    const auto sine = [](float x) { return sin_cos_f32(x).sin; };
    const auto cosine = [](float x) { return sin_cos_f32(x).cos; };
    const auto exact_sine = [](long double x) { return std::fabs(x) <= 0x1p32L ? std::sin(x) : kNan; };
    const auto exact_cosine = [](long double x) { return std::fabs(x) <= 0x1p32L ? std::cos(x) : kNan; };
    CHECK(largest_error_anywhere(stride, sine, exact_sine) < 0.5001);
    CHECK(largest_error_anywhere(stride, cosine, exact_cosine) < 0.5001);
    for (const float y : {-1.0F, -0.015625F, 0.5F, 2.0F, 3.25F, -7.5F}) {
        const auto ours = [y](float x) { return pow_f32(x, y); };
        const auto exact = [y](long double x) { return std::pow(x, static_cast<long double>(y)); };
        CHECK(largest_error(0, 0x7F80'0000, stride, ours, exact) < 0.5001);
    }
    for (const float x : {10000.0F, 500000.0F, 1e6F, 0.3F, 1.0000001F}) {  // among them bases of rotary embeddings
        const auto ours = [x](float y) { return pow_f32(x, y); };
        const auto exact = [x](long double y) { return std::pow(static_cast<long double>(x), y); };
        CHECK(largest_error_anywhere(stride, ours, exact) < 0.5001);
    }
}

}  // namespace

TEST_CASE("the functions of math.hpp keep their stated errors on a dense sample of all arguments", "[kernels][short]") {
    check_errors(20011);  // prime: every pattern of low bits occurs
}

TEST_CASE("the functions of math.hpp keep their stated errors on every 61st of all arguments", "[kernels][.long]") {
    check_errors(61);
}

TEST_CASE("exp keeps its stated error on every argument that gives neither 0 nor infinity", "[kernels][.long]") {
    const auto exact = [](long double x) { return std::exp(x); };
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    CHECK(largest_error(bits(0x1p-26F), bits(89.0F), 1, exp_f32, exact) < 0.88);
    CHECK(largest_error(bits(-0x1p-26F), bits(-105.0F), 1, exp_f32, exact) < 0.88);
}

TEST_CASE("exp is exactly 1 at 0 and exactly 0 at minus infinity", "[kernels][short]") {
    CHECK(std::bit_cast<std::uint32_t>(exp_f32(0.0F)) == 0x3F80'0000);
    CHECK(std::bit_cast<std::uint32_t>(exp_f32(-0.0F)) == 0x3F80'0000);
    CHECK(std::bit_cast<std::uint32_t>(exp_f32(-kInfinity)) == 0);
    CHECK(std::bit_cast<std::uint32_t>(exp_f32(-std::numeric_limits<float>::max())) == 0);
    CHECK(exp_f32(kInfinity) == kInfinity);
    CHECK(exp_f32(std::numeric_limits<float>::max()) == kInfinity);
    CHECK(exp_f32(88.72283F) < kInfinity);
    CHECK(exp_f32(88.72284F) == kInfinity);
    CHECK(exp_f32(-103.97207F) == std::numeric_limits<float>::denorm_min());
    CHECK(exp_f32(-103.9721F) == 0.0F);
}

TEST_CASE("NaN gives NaN and infinities give limits", "[kernels][short]") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float x : {exp_f32(nan), log_f32(nan), log_f32(-1.0F), tanh_f32(nan), erf_f32(nan), sigmoid_f32(nan),
                          sin_cos_f32(nan).sin, sin_cos_f32(kInfinity).cos, sin_cos_f32(0x1.000002p32F).sin,
                          pow_f32(nan, 2.0F), pow_f32(2.0F, nan), pow_f32(-8.0F, 3.0F)}) {
        CHECK(std::isnan(x));
    }
    CHECK(log_f32(0.0F) == -kInfinity);
    CHECK(log_f32(kInfinity) == kInfinity);
    CHECK(log_f32(1.0F) == 0.0F);
    CHECK(tanh_f32(kInfinity) == 1.0F);
    CHECK(tanh_f32(-kInfinity) == -1.0F);
    CHECK(erf_f32(kInfinity) == 1.0F);
    CHECK(erf_f32(-kInfinity) == -1.0F);
    CHECK(sigmoid_f32(kInfinity) == 1.0F);
    CHECK(sigmoid_f32(-kInfinity) == 0.0F);
    CHECK(pow_f32(nan, 0.0F) == 1.0F);
    CHECK(pow_f32(1.0F, nan) == 1.0F);
    CHECK(pow_f32(0.0F, 2.0F) == 0.0F);
    CHECK(pow_f32(0.0F, -2.0F) == kInfinity);
    CHECK(pow_f32(kInfinity, -1.0F) == 0.0F);
    CHECK(pow_f32(0.5F, kInfinity) == 0.0F);
    CHECK(pow_f32(2.0F, kInfinity) == kInfinity);
}

TEST_CASE("sine and cosine are right for the angles of long contexts", "[kernels][short]") {
    double largest = 0;
    for (int position = 0; position < 1 << 24; position += 997) {
        for (const float frequency : {1.0F, 0.9988F, 0.0316F, 1e-4F}) {
            const float angle = static_cast<float>(position) * frequency;
            const SinCos turn = sin_cos_f32(angle);
            largest = std::max({largest, ulp_error(turn.sin, std::sin(static_cast<long double>(angle))),
                                ulp_error(turn.cos, std::cos(static_cast<long double>(angle)))});
        }
    }
    CHECK(largest < 0.5001);
}
