// The polynomials of math.hpp, lowest power first.  Written by fit_math.py (Remez exchange); change that, not this.
#pragma once

namespace mixtura::detail {

// e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2.  Relative error 2^-28.2.
inline constexpr float kExp32[] = {
    0x1.fffffc0000000p-2F, 0x1.55548c0000000p-3F, 0x1.55585a0000000p-5F, 0x1.123d5c0000000p-7F, 0x1.6ab7840000000p-10F,
};
// e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2.  Relative error 2^-55.4.
inline constexpr double kExp64[] = {
    0x1.000000000000ap-1,  0x1.5555555555500p-3,  0x1.55555555505f4p-5,  0x1.1111111125a97p-7,  0x1.6c16c184bbce1p-10,
    0x1.a01a013870663p-13, 0x1.a019987368d59p-16, 0x1.71deff61308ffp-19, 0x1.28af113910465p-22, 0x1.adc1da80d84f1p-26,
};
// ln((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2, |s| <= (sqrt 2 - 1) / (sqrt 2 + 1).  Relative error 2^-59.5.
inline constexpr double kLog64[] = {
    0x1.5555555555593p-1, 0x1.999999997f9d3p-2, 0x1.249249422e449p-2, 0x1.c71c51d310e38p-3,
    0x1.74664af2f4661p-3, 0x1.39a06dd92cd0ap-3, 0x1.2f13536c82613p-3,
};
// sin r = r + r z P(z), z = r^2, |r| <= pi / 4.  Relative error 2^-57.9.
inline constexpr double kSin64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f730p-7,   -0x1.a01a019be9217p-13,
    0x1.71de35552b52fp-19, -0x1.ae5e4b83e420bp-26, 0x1.5d8b559417874p-33,
};
// cos r = 1 - z / 2 + z^2 P(z), z = r^2, |r| <= pi / 4.  Relative error 2^-63.9.
inline constexpr double kCos64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c15005p-10, 0x1.a01a019c8c7d8p-16,
    -0x1.27e4f7ef0d8bbp-22, 0x1.1ee9d9c6b90b3p-29,  -0x1.8fa553a7c8fcbp-37,
};
// tanh x = x + x z P(z), z = x^2, |x| <= 0.6.  Relative error 2^-28.4.
inline constexpr float kTanh32[] = {
    -0x1.55553e0000000p-2F, 0x1.1109b80000000p-3F,  -0x1.b8995c0000000p-5F,
    0x1.54b7780000000p-6F,  -0x1.82420a0000000p-8F,
};
// erf x = x + x P(z), z = x^2, |x| <= 1.  Relative error 2^-29.4.
inline constexpr float kErf32[] = {
    0x1.06eba80000000p-3F, -0x1.81273e0000000p-2F,  0x1.ce2ce60000000p-4F,  -0x1.b7f71a0000000p-6F,
    0x1.53f2240000000p-8F, -0x1.a3515e0000000p-11F, 0x1.4771fe0000000p-14F,
};
// erf x = 1 - e^-P(x), 1 <= x <= 4.  Relative error 2^-29.8.
inline constexpr float kErfTail32[] = {
    0x1.63e36e0000000p-12F, 0x1.2089760000000p+0F, 0x1.46b92e0000000p-1F,   0x1.a65eec0000000p-4F,
    -0x1.65e1040000000p-6F, 0x1.8284a20000000p-9F, -0x1.871f4c0000000p-13F,
};

}  // namespace mixtura::detail
