// Loops that do nothing but keep the arithmetic units or the memory busy: what a perfect kernel of this processor would
// reach.  measure/ times them; they are here because vector instructions live in x86/ alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine.hpp"

namespace mixtura {

struct PeakLoop {
    void (*run)(std::int64_t rounds) noexcept = nullptr;
    std::int64_t ops_per_round = 0;
};

struct PeakLoops {
    PeakLoop integer;   // 8-bit products into 32-bit sums
    PeakLoop floating;  // f32 fused steps
    // Reads each of `bytes`, a multiple of kPeakReadBytes, once.
    void (*read)(const std::byte* from, std::int64_t bytes) noexcept = nullptr;
};
inline constexpr std::int64_t kPeakReadBytes = 256;

// The widest loops that `features` grant; scalar ones always.
PeakLoops peak_loops(const CpuFeatures& features) noexcept;

}  // namespace mixtura
