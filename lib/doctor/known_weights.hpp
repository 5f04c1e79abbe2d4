// Numbers for the known answers, made on the spot by the counter-based generator: the same on every machine, so that a
// few checksums are all that has to be kept.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/philox.hpp"

namespace mixtura {

// What a format's weights are made like.
struct KnownFormat {
    DType dtype;
    std::uint64_t mixture_checksum;  // of known_mixture.cpp's answer
};

// Every dtype that product_index() knows.
std::span<const KnownFormat> known_formats() noexcept;

// An endless sequence of 32-bit words; which one, `stream` and `part` say.
class KnownNumbers {
  public:
    KnownNumbers(std::uint32_t stream, std::uint32_t part) noexcept : key_{stream, part} {}

    std::uint32_t word() noexcept {
        const std::uint32_t lane = taken_ % 4;
        if (lane == 0) four_ = philox4x32({taken_ / 4, 0, 0, 0}, key_);
        ++taken_;
        return four_[lane];
    }
    // In [-size / 2, size / 2); size is a power of two, so that no bit is rounded away.
    float number(float size) noexcept { return (unit_float(word()) - 0.5F) * size; }
    std::vector<float> numbers(std::int64_t count, float size);

  private:
    PhiloxKey key_;
    PhiloxCounter four_{};
    std::uint32_t taken_ = 0;
};

// File bytes of [rows, columns]: codes at random, scales such that the weights lie within about ±0.2 and ±0.05 is
// common.  Pre: dtype is one of known_formats(), columns a whole number of its blocks.
std::vector<std::byte> known_weights(DType dtype, std::int64_t rows, std::int64_t columns, KnownNumbers numbers);

}  // namespace mixtura
