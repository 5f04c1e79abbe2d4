#include "kernels/quant/half.hpp"

#include <catch2/catch.hpp>

#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "support/tensors.hpp"

using namespace mixtura;
using test::same_bits;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a code by the definition of binary formats, in doubles: another way than half.hpp goes.
double by_definition(unsigned code, int exponent_bits, int fraction_bits, int bias) {
    const unsigned fraction = code & ((1U << fraction_bits) - 1);
    const unsigned exponent = code >> fraction_bits & ((1U << exponent_bits) - 1);
    const double sign = (code >> (exponent_bits + fraction_bits) & 1U) != 0 ? -1.0 : 1.0;
    const double significand = fraction + (exponent != 0 ? std::ldexp(1.0, fraction_bits) : 0.0);
    const int power = (exponent != 0 ? static_cast<int>(exponent) : 1) - bias - fraction_bits;
    return sign * std::ldexp(significand, power);
}

}  // namespace

TEST_CASE("every f16 survives the way to f32 and back", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 0x10000; ++code) {
        const auto half = static_cast<std::uint16_t>(code);
        const float value = f16_to_f32(half);
        if (f32_to_f16(value) != half) ++wrong;
        const bool is_finite = (code & 0x7C00U) != 0x7C00U;
        if (is_finite && !same_bits(value, static_cast<float>(by_definition(code, 5, 10, 15)))) ++wrong;
        if (!is_finite && std::isnan(value) != ((code & 0x3FFU) != 0)) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(f16_to_f32(0x7C00) == kInfinity);
    CHECK(f16_to_f32(0xFC00) == -kInfinity);
    CHECK(f16_to_f32(0x7BFF) == 65504.0F);
    CHECK(f16_to_f32(0x0001) == 0x1p-24F);
}

TEST_CASE("f32 rounds to the nearest f16, ties to the even one", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 0x7BFF; ++code) {  // every pair of neighbours from 0 to 65504
        const auto low = static_cast<std::uint16_t>(code);
        const auto high = static_cast<std::uint16_t>(code + 1);
        const float middle = (f16_to_f32(low) + f16_to_f32(high)) / 2;  // exact in f32
        if (f32_to_f16(middle) != (code % 2 == 0 ? low : high)) ++wrong;
        if (f32_to_f16(std::nextafter(middle, 0.0F)) != low) ++wrong;
        if (f32_to_f16(std::nextafter(middle, kInfinity)) != high) ++wrong;
        if (f32_to_f16(-middle) != (0x8000U | (code % 2 == 0 ? low : high))) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(f32_to_f16(std::nextafter(65520.0F, 0.0F)) == 0x7BFF);
    CHECK(f32_to_f16(65520.0F) == 0x7C00);
    CHECK(f32_to_f16(-FLT_MAX) == 0xFC00);
    CHECK(f32_to_f16(kInfinity) == 0x7C00);
    CHECK(f32_to_f16(0x1p-25F) == 0);
    CHECK(f32_to_f16(-0x1p-25F) == 0x8000);
    CHECK(f32_to_f16(std::nextafter(0x1p-25F, 1.0F)) == 1);
    CHECK(f32_to_f16(FLT_TRUE_MIN) == 0);
}

TEST_CASE("a NaN stays a NaN of its sign in f16 and bf16", "[kernels][short]") {
    for (const std::uint32_t bits :
         {0x7F80'0001U, 0x7F80'1FFFU, 0x7FC0'0000U, 0x7FFF'FFFFU, 0xFF80'0001U, 0xFFFF'FFFFU}) {
        const float nan = f32_from_bits(bits);
        CHECK(std::isnan(f16_to_f32(f32_to_f16(nan))));
        CHECK(std::isnan(bf16_to_f32(f32_to_bf16(nan))));
        CHECK(f32_to_f16(nan) >> 15 == bits >> 31);
        CHECK(f32_to_bf16(nan) >> 15 == bits >> 31);
    }
}

TEST_CASE("every bf16 survives the way to f32 and back", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 0x10000; ++code) {
        const auto half = static_cast<std::uint16_t>(code);
        const float value = bf16_to_f32(half);
        const unsigned expected = std::isnan(value) ? code | 0x0040U : code;  // a NaN becomes quiet
        if (f32_to_bf16(value) != expected) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("f32 rounds to the nearest bf16, ties to the even one", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 0x7F80; ++code) {  // every pair of neighbours from 0 to infinity
        for (const std::uint32_t sign : {0U, 0x8000U}) {
            const std::uint32_t low = code | sign;
            const auto rounded = [low](std::uint32_t lower_bits) {
                return f32_to_bf16(f32_from_bits(low << 16 | lower_bits));
            };
            if (rounded(0x7FFF) != low) ++wrong;
            if (rounded(0x8000) != (code % 2 == 0 ? low : low + 1)) ++wrong;
            if (rounded(0x8001) != low + 1) ++wrong;
        }
    }
    CHECK(wrong == 0);
    CHECK(f32_to_bf16(FLT_MAX) == 0x7F80);
    CHECK(f32_to_bf16(-kInfinity) == 0xFF80);
    CHECK(f32_to_bf16(FLT_TRUE_MIN) == 0);
}

TEST_CASE("every byte of e4m3, e5m2 and e8m0 has the value its owner gives it", "[kernels][short]") {
    const test::Tensors golden("packed.safetensors");
    const auto check = [&golden](const std::string& name, float (*to_f32)(std::uint8_t) noexcept) {
        const std::vector<std::byte> codes = golden.bytes(name + ".bytes");
        const std::vector<float> expected = golden.floats(name + ".values");
        REQUIRE(codes.size() == 256);
        std::vector<float> values;
        for (const std::byte code : codes) values.push_back(to_f32(std::to_integer<std::uint8_t>(code)));
        CHECK(test::first_difference(values, expected) == 256);
    };
    check("e4m3", f8_e4m3_to_f32);
    check("e5m2", f8_e5m2_to_f32);
    check("e8m0", f8_e8m0_to_f32);
}

TEST_CASE("the fnuz bytes follow their definition, with 0x80 as the only NaN", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 256; ++code) {
        const float e4m3 = f8_e4m3fnuz_to_f32(static_cast<std::uint8_t>(code));
        const float e5m2 = f8_e5m2fnuz_to_f32(static_cast<std::uint8_t>(code));
        if (code == 0x80) {
            CHECK(std::isnan(e4m3));
            CHECK(std::isnan(e5m2));
            continue;
        }
        if (!same_bits(e4m3, static_cast<float>(by_definition(code, 4, 3, 8)))) ++wrong;
        if (!same_bits(e5m2, static_cast<float>(by_definition(code, 5, 2, 16)))) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(f8_e4m3fnuz_to_f32(0x7F) == 240.0F);
    CHECK(f8_e5m2fnuz_to_f32(0xFF) == -57344.0F);
}

TEST_CASE("the sub-byte codes follow their definition", "[kernels][short]") {
    unsigned wrong = 0;
    for (unsigned code = 0; code < 64; ++code) {
        if (!same_bits(f6_e2m3_to_f32(code), static_cast<float>(by_definition(code, 2, 3, 1)))) ++wrong;
        if (!same_bits(f6_e3m2_to_f32(code), static_cast<float>(by_definition(code, 3, 2, 3)))) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(f6_e2m3_to_f32(0x1F) == 7.5F);
    CHECK(f6_e2m3_to_f32(0x21) == -0.125F);
    CHECK(f6_e3m2_to_f32(0x1F) == 28.0F);
    CHECK(f6_e3m2_to_f32(0x01) == 0.0625F);
    const float e2m1[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0F, -0.5, -1, -1.5, -2, -3, -4, -6};
    for (unsigned code = 0; code < 16; ++code) CHECK(same_bits(f4_e2m1_to_f32(code), e2m1[code]));
}

TEST_CASE("the halved e8m0 scale is half of the whole one, and 2^127 where that is NaN", "[kernels][short]") {
    for (unsigned code = 0; code < 255; ++code) {
        const auto byte = static_cast<std::uint8_t>(code);
        CHECK(same_bits(f8_e8m0_half_to_f32(byte), f8_e8m0_to_f32(byte) * 0.5F));
    }
    CHECK(f8_e8m0_half_to_f32(255) == 0x1p127F);
}
