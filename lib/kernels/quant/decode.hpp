// The reference decoding of every number format: packed bytes to f32, bit for bit what the format's owner computes.
// Each faster kernel is tested for equality with it, so clarity comes first here; called by weights (repacking, types
// without a direct kernel) and by tests.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>

namespace mixtura {

// packed [block_count · dtype_info(dtype).block_bytes], any alignment · values [block_count · block_elements], f32,
// overwritten; no overlap.  Reads and writes exactly that much.  Every byte pattern has defined values (a scale that is
// NaN gives NaNs).  Products round once each, in the order the formula of the format is written; nothing is fused.
using DecodeBlocks = void (*)(const std::byte* packed, float* values, std::size_t block_count) noexcept;

// nullptr where there is none: the integer types, bool, c64, unknown.  Threads: any-thread.
DecodeBlocks decoder(DType dtype) noexcept;

}  // namespace mixtura
