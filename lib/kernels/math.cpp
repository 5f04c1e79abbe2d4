#include "kernels/math.hpp"

#include <limits>

namespace mixtura {
namespace {

using detail::horner;

constexpr double kRound64 = 0x1.8p52;  // as kRound32, for magnitudes below 2^51
constexpr double kLog2E64 = 0x1.71547652b82fep0;
constexpr double kLn2High64 = 0x1.62e42fefa3800p-1;  // 43 bits: its product with an 11-bit exponent is exact
constexpr double kLn2Low64 = 0x1.ef35793c76730p-45;
constexpr double kTwoOverPi64 = 0x1.45f306dc9c883p-1;
// pi / 2 in two parts of 53 bits: together to 2^-110, so |x| <= 2^32 leaves an error of 2^-78 in the remainder, while
// the remainder of an f32 below 2^32 is never under 2^-34.
constexpr double kHalfPiHigh64 = 0x1.921fb54442d18p0;
constexpr double kHalfPiLow64 = 0x1.1a62633145c07p-54;
constexpr double kAngleMax = 0x1p32;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

double power_of_two_f64(std::uint64_t n) noexcept { return std::bit_cast<double>((n + 1023U) << 52); }

}  // namespace

double log_f64(double x) noexcept {
    // x = 2^e · m with m in (sqrt(1/2), sqrt 2]: shifting the bits by those of sqrt(1/2) makes the exponent field e.
    constexpr std::uint64_t kRootHalf = 0x3FE6'A09E'667F'3BCD;
    const std::uint64_t above = std::bit_cast<std::uint64_t>(x) - kRootHalf;
    const auto exponent = static_cast<double>(static_cast<std::int64_t>(above) >> 52);
    const double m = std::bit_cast<double>((above & 0x000F'FFFF'FFFF'FFFFU) + kRootHalf);
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    const double log_m = std::fma(s * z, horner(detail::kLog64, z), 2.0 * s);
    return std::fma(exponent, kLn2High64, std::fma(exponent, kLn2Low64, log_m));
}

double exp_f64(double x) noexcept {
    x = -746.0 > x ? -746.0 : x;
    x = 711.0 < x ? 711.0 : x;
    const double shifted = std::fma(x, kLog2E64, kRound64);
    const double n = shifted - kRound64;
    double r = std::fma(n, -kLn2High64, x);
    r = std::fma(n, -kLn2Low64, r);
    double p = horner(detail::kExp64, r);
    p = std::fma(p, r, 1.0);
    p = std::fma(p, r, 1.0);
    const std::uint64_t whole = std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(kRound64);
    const auto half = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole) >> 1);
    return p * power_of_two_f64(half) * power_of_two_f64(whole - half);
}

float log_f32(float x) noexcept {
    if (x == 0.0F) return -kInfinity;
    if (x == kInfinity) return kInfinity;
    if (!(x > 0.0F)) return kNan;
    return static_cast<float>(log_f64(x));
}

float pow_f32(float x, float y) noexcept {
    if (y == 0.0F || x == 1.0F) return 1.0F;
    if (!(x >= 0.0F) || y != y) return kNan;
    if (x == 0.0F) return y > 0.0F ? 0.0F : kInfinity;
    if (x == kInfinity) return y > 0.0F ? kInfinity : 0.0F;
    if (y == kInfinity || y == -kInfinity) return (x > 1.0F) == (y > 0.0F) ? kInfinity : 0.0F;
    return static_cast<float>(exp_f64(static_cast<double>(y) * log_f64(x)));
}

SinCos sin_cos_f32(float x) noexcept {
    const double angle = x;
    if (!(std::fabs(angle) <= kAngleMax)) return {kNan, kNan};
    const double shifted = std::fma(angle, kTwoOverPi64, kRound64);
    const double n = shifted - kRound64;
    double r = std::fma(n, -kHalfPiHigh64, angle);
    r = std::fma(n, -kHalfPiLow64, r);
    const double z = r * r;
    const double sine = std::fma(r * z, horner(detail::kSin64, z), r);
    const double cosine = std::fma(z * z, horner(detail::kCos64, z), std::fma(-0.5, z, 1.0));
    const std::uint64_t quarter = std::bit_cast<std::uint64_t>(shifted) & 3U;
    const double s = (quarter & 1U) != 0 ? cosine : sine, c = (quarter & 1U) != 0 ? sine : cosine;
    // Quarters 2 and 3 turn the sine's sign, 1 and 2 the cosine's.
    return {static_cast<float>((quarter & 2U) != 0 ? -s : s), static_cast<float>(((quarter + 1U) & 2U) != 0 ? -c : c)};
}

}  // namespace mixtura
