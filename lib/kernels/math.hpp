// exp, log, sin, cos, pow, tanh, erf for the path to logits: the same steps on every machine, so the same bits.  libm
// differs between C libraries, versions and processors, and may not be called there (design.md, the determinism rule,
// 2).
//
// Each function is a fixed sequence of IEEE basic operations, fused multiply-adds where std::fma is written, and
// integer steps on the bits; no table, no branch that a lane cannot take by selection, no reciprocal estimate.  The
// vector versions in x86/ repeat exp_f32, tanh_f32 and erf_f32 step by step and are tested for equal bits on every kind
// of argument.  The rest compute in f64 and round once; they are called per position or at load time, never per
// element.
//
// Largest errors in units of the last place, over all f32 arguments (math_test.cpp; every argument in its long tier):
//   exp 0.88 · tanh 1.51 · erf 1.07 · log, sin, cos, pow 0.5001
// Coefficients: our own minimax fits, fit_math.py.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/math_coefficients.hpp"

namespace mixtura {
namespace detail {

// c[0] + c[1] u + ... by Horner's rule, highest power first, each step fused.
template <class Real, int kCount>
Real horner(const Real (&c)[kCount], Real u) noexcept {
    Real p = c[kCount - 1];
    for (int i = kCount - 2; i >= 0; --i) p = std::fma(p, u, c[i]);
    return p;
}

// Adding 1.5 · 2^23 leaves the nearest integer (ties to even) in the low bits of an f32 of magnitude below 2^22.
inline constexpr float kRound32 = 0x1.8p23F;
inline constexpr float kLog2E32 = 0x1.715476p0F;
inline constexpr float kLn2High32 = 0x1.62e4p-1F;    // 14 bits: its product with |n| <= 150 is exact
inline constexpr float kLn2Low32 = 0x1.7f7d1cp-20F;  // ln 2 - kLn2High32
inline constexpr float kExpLowest32 = -104.0F;       // e^-104 < 2^-150: rounds to 0
inline constexpr float kExpHighest32 = 89.0F;        // e^89 > 2^128: rounds to infinity
inline constexpr float kTanhSplit32 = 0.6F;
inline constexpr float kErfSplit32 = 1.0F;
inline constexpr float kErfOne32 = 4.0F;  // from here on erf rounds to 1

// 2^n for n in [-126, 127]; any n is allowed and gives some number.
inline float power_of_two_f32(std::uint32_t n) noexcept { return std::bit_cast<float>((n + 127U) << 23); }

inline float with_sign_of(float magnitude, float sign) noexcept {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(magnitude) & 0x7FFF'FFFFU) |
                                (std::bit_cast<std::uint32_t>(sign) & 0x8000'0000U));
}

}  // namespace detail

// e^x.  Exactly 1 at 0 and exactly 0 at -inf; inf above 88.72284; NaN for NaN.  Subnormal results are rounded once.
inline float exp_f32(float x) noexcept {
    using namespace detail;
    x = kExpLowest32 > x ? kExpLowest32 : x;  // written so that NaN passes, as maxps and minps do with x second
    x = kExpHighest32 < x ? kExpHighest32 : x;
    const float shifted = std::fma(x, kLog2E32, kRound32);
    const float n = shifted - kRound32;
    float r = std::fma(n, -kLn2High32, x);
    r = std::fma(n, -kLn2Low32, r);
    float p = horner(kExp32, r);
    p = std::fma(p, r, 1.0F);
    p = std::fma(p, r, 1.0F);
    // 2^n in two factors: n may be 128 or below -126, where 2^n is no normal number.
    const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound32);
    const std::uint32_t half = static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) >> 1);
    return p * power_of_two_f32(half) * power_of_two_f32(whole - half);
}

// 1 / (1 + e^-x).
inline float sigmoid_f32(float x) noexcept { return 1.0F / (1.0F + exp_f32(-x)); }

// Odd; ±1 at ±inf.  Below 0.6 a polynomial, above it (1 - e) / (1 + e) with e = e^(-2|x|).
inline float tanh_f32(float x) noexcept {
    using namespace detail;
    const float square = x * x;
    const float small = std::fma(x * square, horner(kTanh32, square), x);
    const float magnitude = std::fabs(x);
    const float e = exp_f32(-2.0F * magnitude);
    const float large = with_sign_of((1.0F - e) / (1.0F + e), x);
    return magnitude < kTanhSplit32 ? small : large;
}

// Odd; ±1 at ±inf.  Below 1 a polynomial, above it 1 - e^-P(|x|).
inline float erf_f32(float x) noexcept {
    using namespace detail;
    const float small = std::fma(x, horner(kErf32, x * x), x);
    const float magnitude = std::fabs(x);
    const float bounded = kErfOne32 < magnitude ? kErfOne32 : magnitude;
    const float large = with_sign_of(1.0F - exp_f32(-horner(kErfTail32, bounded)), x);
    return magnitude < kErfSplit32 ? small : large;
}

// Natural logarithm: -inf at ±0, inf at inf, NaN below 0.
float log_f32(float x) noexcept;

// x^y for x >= 0.  x^0 = 1 and 1^y = 1, also for NaN; 0^y is 0 or inf by the sign of y; NaN where x < 0.
float pow_f32(float x, float y) noexcept;

struct SinCos {
    float sin, cos;
};
// |x| <= 2^32, which no position times frequency exceeds; NaN beyond, and for NaN.
SinCos sin_cos_f32(float x) noexcept;

// The f64 steps behind log_f32 and pow_f32, error below 2 units of the f64's last place.
double log_f64(double x) noexcept;  // x positive, finite and normal
double exp_f64(double x) noexcept;  // NaN for NaN; 0 below -745, inf above 710

}  // namespace mixtura
