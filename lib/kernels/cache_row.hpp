// How the KV cache keeps one head's row of numbers, by dtype; lib/cache lays rows out, the kernels store and read them.
//   f32, f16, bf16  the elements, rounded to nearest even
//   q8_0            blocks of 32 as GGUF's: d as f16, then q as 32 int8; the last block is filled up with zeros
//   f8_e4m3         one scale of the row as f32, then a code an element
// A narrow element reads as code · scale, rounded once to f32; README.md, "Rows of the cache", has the steps.
// A row of zero bytes reads as zeros in each of them, and a number that is none never reads as a number: what shares a
// scale with it (32 elements of q8_0, the row of f8_e4m3) reads as NaN.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>

namespace mixtura {

inline constexpr std::int64_t kQ8Elements = 32, kQ8ScaleBytes = 2, kQ8BlockBytes = 34;
inline constexpr std::int64_t kF8ScaleBytes = 4;
// Rows whose largest number is smaller are zeros in f8_e4m3, for 448 / maximum to stay far from f32's end.
inline constexpr float kF8Tiny = 0x1p-100F;
inline constexpr float kF8Largest = 448.0F;

constexpr bool is_cache_dtype(DType dtype) noexcept {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::q8_0 ||
           dtype == DType::f8_e4m3;
}

// Bytes of a row of `size` elements; size < 2^60.
constexpr std::int64_t cache_row_bytes(DType dtype, std::int64_t size) noexcept {
    switch (dtype) {
        case DType::f32: return 4 * size;
        case DType::q8_0: return (size + kQ8Elements - 1) / kQ8Elements * kQ8BlockBytes;
        case DType::f8_e4m3: return kF8ScaleBytes + size;
        default: return 2 * size;
    }
}

// Elements [first, first + count) of a row, exactly as the attention kernels see them.  Expects FpEnvironment.
void load_cache_row(DType dtype, const std::byte* row, std::int64_t first, std::int64_t count, float* out) noexcept;

}  // namespace mixtura
