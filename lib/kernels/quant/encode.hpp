// The reference encoding of the number formats we also write: f32 to packed bytes.  Called by tests, by the tools that
// make bench models, and wherever weights are quantised at load.
//
// f32, f16, bf16: round to nearest even; infinities and NaNs stay what they are.
//
// q4_0, q4_1, q5_0, q5_1, q8_0, tq1_0, tq2_0, mxfp4: the bytes of the owner's reference (gguf 0.19) wherever it defines
// them; but in mxfp4 a block whose largest magnitude lies just below a power of two can differ (fp4.cpp says why).
//
// q4_k, q5_k, q6_k, iq4_nl: least-squares search; on gaussian data the relative error √(Σ(x - y)² / Σx²) of q4_k and
// q6_k is at most kQ4KGaussianError and kQ6KGaussianError.
//
// f8_e4m3_32, f8_e4m3_128, int4_32, int4_64, int4_128, nf4: plain rounding with the scale that the block's extremes need.
//
// The block formats hold no infinity or NaN: a NaN encodes as 0, values beyond the format's reach as its largest, so
// that whatever goes in, finite numbers come out of the decoder.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>

namespace mixtura {

// values [block_count · block_elements] f32 · packed [block_count · block_bytes], any alignment, overwritten; no
// overlap.
using EncodeBlocks = void (*)(const float* values, std::byte* packed, std::size_t block_count) noexcept;

// nullptr where there is none.  Threads: any-thread.
EncodeBlocks encoder(DType dtype) noexcept;

// On 262,144 normal numbers the published encoders (ggml 0.13.1, no importance matrix) reach 0.07134 and 0.01775, ours
// 0.07061 and 0.01772.
inline constexpr double kQ4KGaussianError = 0.0710;
inline constexpr double kQ6KGaussianError = 0.01775;

}  // namespace mixtura
