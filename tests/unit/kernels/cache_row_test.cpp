#include "kernels/cache_row.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/ref/ref.hpp"
#include "parallel/fp_environment.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

const KernelTable& reference() { return *backends()[0].table; }

std::vector<std::byte> stored(const KernelTable& kernels, DType dtype, const std::vector<float>& x) {
    const FpEnvironment guard;
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<std::byte> row(static_cast<std::size_t>(cache_row_bytes(dtype, count)) + 1, std::byte{0xA5});
    kernels.store_row(dtype, x.data(), count, row.data());
    CHECK(row.back() == std::byte{0xA5});
    row.pop_back();
    return row;
}

std::vector<float> loaded(DType dtype, const std::vector<std::byte>& row, std::size_t count) {
    const FpEnvironment guard;
    std::vector<float> x(count);
    load_cache_row(dtype, row.data(), 0, static_cast<std::int64_t>(count), x.data());
    return x;
}

std::vector<float> there_and_back(DType dtype, const std::vector<float>& x) {
    return loaded(dtype, stored(reference(), dtype, x), x.size());
}

float largest(const std::vector<float>& x) {
    float most = 0;
    for (const float value : x) {
        if (!std::isfinite(value)) return value;
        most = std::max(most, std::fabs(value));
    }
    return most;
}

// Rows that a scale makes hard: each of the given width.
std::vector<std::vector<float>> hard_rows(std::size_t width) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::vector<float>> rows;
    test::Random generator(width);
    const auto gaussians = [&](float size) -> std::vector<float>& {
        std::vector<float>& row = rows.emplace_back(width);
        for (float& x : row) x = size * generator.gaussian();
        return row;
    };
    gaussians(1.0F);
    gaussians(0.0F);
    gaussians(1.0F)[generator.bits() % width] *= 1000.0F;
    gaussians(1e-39F);
    gaussians(1e-30F);
    gaussians(1e-6F);
    gaussians(1e7F);
    gaussians(1e37F);
    gaussians(1.0F)[generator.bits() % width] = std::numeric_limits<float>::max();
    gaussians(1.0F)[generator.bits() % width] = std::numeric_limits<float>::denorm_min();
    gaussians(1.0F)[generator.bits() % width] = inf;
    gaussians(1.0F)[generator.bits() % width] = -inf;
    gaussians(1.0F)[width - 1] = nan;
    gaussians(1.0F)[0] = -0.0F;
    std::vector<float>& halves = gaussians(1.0F);  // ties of int8: the maximum 127, the rest between two codes
    for (std::size_t i = 0; i < width; ++i) halves[i] = i % 32 == 0 ? 127.0F : static_cast<float>(i % 50) - 24.5F;
    std::vector<float>& ties = gaussians(1.0F);  // and of e4m3, its subnormals too: maximum 448
    for (std::size_t i = 0; i < width; ++i) {
        const auto code = static_cast<std::uint8_t>(i * 7 % 0x7E);
        ties[i] = i == 0 ? 448.0F : (f8_e4m3_to_f32(code) + f8_e4m3_to_f32(code + 1)) / 2.0F;
    }
    return rows;
}

}  // namespace

TEST_CASE("every f32 becomes the nearest e4m3, ties to even, beyond 464 NaN", "[kernels][short]") {
    for (unsigned code = 0; code < 0x7E; ++code) {
        const float here = f8_e4m3_to_f32(static_cast<std::uint8_t>(code)),
                    next = f8_e4m3_to_f32(static_cast<std::uint8_t>(code + 1));
        const float middle = (here + next) / 2.0F;
        CHECK(f32_to_f8_e4m3(here) == code);
        CHECK(f32_to_f8_e4m3(-here) == (code | 0x80U));
        CHECK(f32_to_f8_e4m3(std::nextafter(middle, 0.0F)) == code);
        CHECK(f32_to_f8_e4m3(middle) == code + code % 2);
        CHECK(f32_to_f8_e4m3(std::nextafter(middle, 500.0F)) == code + 1);
    }
    CHECK(f32_to_f8_e4m3(464.0F) == 0x7E);
    CHECK(f32_to_f8_e4m3(std::nextafter(464.0F, 500.0F)) == 0x7F);
    CHECK(f32_to_f8_e4m3(-std::numeric_limits<float>::infinity()) == 0xFF);
    CHECK(f32_to_f8_e4m3(std::numeric_limits<float>::quiet_NaN()) == 0x7F);
}

TEST_CASE("a cached row has the reference's bytes on every back-end, and as many as its layout says",
          "[kernels][short]") {
    CHECK(cache_row_bytes(DType::f32, 19) == 76);
    CHECK(cache_row_bytes(DType::bf16, 19) == 38);
    CHECK(cache_row_bytes(DType::q8_0, 128) == 136);
    CHECK(cache_row_bytes(DType::q8_0, 19) == 34);
    CHECK(cache_row_bytes(DType::f8_e4m3, 19) == 23);
    for (const DType dtype : {DType::q8_0, DType::f8_e4m3}) {
        for (const std::size_t width : {1, 15, 16, 19, 31, 32, 33, 47, 48, 80, 128, 257}) {
            for (const std::vector<float>& row : hard_rows(width)) {
                const std::vector<std::byte> expected = stored(reference(), dtype, row);
                for (const Backend& backend : backends()) {
                    if (!backend.is_supported) continue;
                    INFO(backend.name << " " << dtype_name(dtype) << " width " << width);
                    CHECK(stored(*backend.table, dtype, row) == expected);
                }
            }
        }
    }
}

TEST_CASE("cached rows come back within half a step of their scale", "[kernels][short]") {
    for (const std::vector<float>& row : hard_rows(96)) {
        const float most = largest(row);
        if (!std::isfinite(most)) continue;
        const std::vector<float> q8 = there_and_back(DType::q8_0, row), f8 = there_and_back(DType::f8_e4m3, row);
        for (std::size_t i = 0; i < row.size(); ++i) {
            // Of f8: half of the last of three fraction bits, or half of a subnormal step; and two roundings.
            if (most >= kF8Tiny)
                CHECK(std::fabs(f8[i] - row[i]) <=
                      std::max(std::fabs(row[i]) * 0x1.001p-4F, most / 448.0F * 0x1.001p-10F));
            else
                CHECK(f8[i] == 0.0F);
            const std::vector<float> block(row.begin() + static_cast<std::ptrdiff_t>(i / 32 * 32),
                                           row.begin() + static_cast<std::ptrdiff_t>(i / 32 * 32 + 32));
            const float step = largest(block) / 127.0F;
            // Of q8: half a step, what rounding the step to f16 does to a code of 127; and f16 counts in 2^-24.
            if (step < 65504.0F)
                CHECK(std::fabs(q8[i] - row[i]) <= 0.5001F * step + 127.0F * std::max(step * 0x1p-11F, 0x1p-25F));
        }
    }
}

TEST_CASE("a number that is none never comes back as a number, nor as its neighbours'", "[kernels][short]") {
    for (const float strange : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()}) {
        for (const std::size_t at : {0, 31, 32, 69}) {
            std::vector<float> row(70, 1.0F);
            row[at] = strange;
            const std::vector<float> q8 = there_and_back(DType::q8_0, row), f8 = there_and_back(DType::f8_e4m3, row);
            for (std::size_t i = 0; i < row.size(); ++i) {
                CHECK(std::isnan(f8[i]));
                CHECK(std::isnan(q8[i]) == (i / 32 == at / 32));
            }
        }
    }
    // A block whose step is no f16 is infinite where it is not zero.
    const std::vector<float> huge = there_and_back(DType::q8_0, std::vector<float>(32, 1e7F));
    for (const float x : huge) CHECK(std::isinf(x));
}

TEST_CASE("zero bytes are zeros, in every type of row", "[kernels][short]") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3}) {
        const std::vector<std::byte> row(static_cast<std::size_t>(cache_row_bytes(dtype, 40)));
        CHECK(loaded(dtype, row, 40) == std::vector<float>(40, 0.0F));
        CHECK(stored(reference(), dtype, std::vector<float>(40, 0.0F)) == row);
    }
}

TEST_CASE("part of a row is the same numbers as in the whole", "[kernels][short]") {
    const FpEnvironment guard;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3}) {
        const std::vector<float> row = hard_rows(70)[2];
        const std::vector<std::byte> bytes = stored(reference(), dtype, row);
        const std::vector<float> whole = loaded(dtype, bytes, 70);
        for (std::int64_t first = 0; first < 70; first += 9) {
            float part[5];
            load_cache_row(dtype, bytes.data(), first, 5, part);
            CHECK(std::memcmp(part, &whole[static_cast<std::size_t>(first)], sizeof part) == 0);
        }
    }
}
