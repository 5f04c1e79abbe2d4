// Inside kernels only: the scalar reference, filled into the table by backend.cpp.  Kept for ever: it is the definition
// that every vector kernel is tested against for equal bits.
#pragma once

#include "kernels/integer_format.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura::ref {

void fill_products(KernelTable& table) noexcept;
void fill_rows(KernelTable& table) noexcept;
void fill_attention(KernelTable& table) noexcept;
void fill_recurrent(KernelTable& table) noexcept;

// Element `index` of an array of f32, f16 or bf16 at any address.
inline float load_plain(DType dtype, const std::byte* bytes, std::size_t index) noexcept {
    if (dtype == DType::f32) return load_f32(bytes, index);
    const std::uint16_t half = load_field<Le16>(bytes, index).value();
    return dtype == DType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

// See KernelTable.
void quantise_row(const float* x, std::int64_t columns, ActivationBlock* blocks) noexcept;
void store_row(DType dtype, const float* x, std::int64_t count, std::byte* out) noexcept;

// Of a row in f8_e4m3 whose largest magnitude has these bits: codes are round(x · inverse), all 0 where inverse is.
struct F8Scale {
    float scale, inverse;
};
F8Scale f8_scale(std::uint32_t largest) noexcept;

// y with one group of columns added: `sum` the exact Σ q_w · q, scale and minimum of the weights, `scaled_sum` the
// activations' d · Σ q of the same columns.
float add_group(const IntegerFormat& format, std::int32_t sum, float scale, float minimum, float d, float scaled_sum,
                float y) noexcept;

// s = dot · scale; cap · tanh(s / cap) where there is a cap; + slope · (position of the key - position of the query).
float attention_score(float dot, float scale, float soft_cap, float slope, float distance) noexcept;

// y[t, n] = Σ_k x[t, k] · W[n, k] straight from the rows of a file: the oracle for packing and panels together, for
// every dtype.  file_rows [rows, columns] · x [token_count, columns] f32, integer formats quantise it here · y
// [token_count, rows]. Slow (a row is decoded anew for each call); nothing but tests calls it.
void matmul_file_rows(DType dtype, const std::byte* file_rows, std::int64_t rows, std::int64_t columns, const float* x,
                      std::int64_t token_count, float* y);

}  // namespace mixtura::ref
