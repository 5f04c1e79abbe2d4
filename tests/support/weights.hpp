// Weights and activations for kernel tests: random rows of any file format, sane or of arbitrary bytes, and activations
// with the shapes of trouble (zero blocks, outliers, denormals, huge and tiny values).
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mixtura::test {

// A small generator, the same everywhere (std's distributions are not).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15U + 1) {}
    std::uint32_t bits();
    float uniform();   // [-1, 1)
    float gaussian();  // mean 0, variance 1, near enough

  private:
    std::uint64_t state_;
};

// File bytes of [rows, columns]: arbitrary codes; f16 and 8-bit scales such that weights are of size 0.001 to 10.
std::vector<std::byte> random_weights(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed);
// File bytes without any sense: every scale may be infinite, NaN, subnormal or zero.
std::vector<std::byte> arbitrary_weights(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// Every f16 scale and minimum of a block becomes `half`, mxfp4's exponent its low byte, an f32 scale its value;
// formats without such keep theirs.
void set_scales(DType dtype, std::byte* block, std::uint16_t half);

// [rows, columns] f32; by row: plain gaussians, then one trouble after another (zero blocks, outliers × 1000, all equal
// to ±the largest, denormals, blocks just around the zero threshold, values near overflow), then gaussians again.
std::vector<float> random_activations(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// Every dtype a matrix product accepts.
std::vector<DType> multipliable_dtypes();

}  // namespace mixtura::test
