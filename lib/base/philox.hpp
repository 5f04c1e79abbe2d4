// Counter-based random numbers: the value at (key, counter) is a pure function, so any thread can compute any draw and
// the same request gives the same text whatever else runs.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; Philox-4x32 with 10
// rounds.
#pragma once

#include <array>
#include <cstdint>

namespace mixtura {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Four independent uniform 32-bit words.
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept;

// A 32-bit word as a float in [0, 1): its upper 24 bits, so that every value is exact and 1 is never reached.
constexpr float unit_float(std::uint32_t word) noexcept { return static_cast<float>(word >> 8) * 0x1p-24F; }

// Two 32-bit words as a double in [0, 1) with 53 random bits.
constexpr double unit_double(std::uint32_t high, std::uint32_t low) noexcept {
    const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace mixtura
