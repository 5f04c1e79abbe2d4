// Norms, softmax, activations and sums over T rows, shared among threads by row.  Formulas: README.md; each row is one
// KernelTable function, so a row's bits depend on that row alone.
#pragma once

#include <cstdint>

#include "kernels/kernel_table.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// T rows of `columns` f32 that lie `stride` floats apart.
struct Rows {
    float* data = nullptr;
    std::int64_t stride = 0;
};
struct ConstRows {
    const float* data = nullptr;
    std::int64_t stride = 0;

    ConstRows() = default;
    ConstRows(const float* first, std::int64_t floats) noexcept : data(first), stride(floats) {}
    ConstRows(const Rows& rows) noexcept : data(rows.data), stride(rows.stride) {}  // NOLINT: implicit by design
};

// y = x / √(mean(x²) + epsilon) · weight.  y may be x.  Zhang & Sennrich 2019 (arXiv 1910.07467), (4); epsilon as
// Llama.
void rms_norm(const KernelTable& kernels, ParallelFor& threads, ConstRows x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t columns, Rows y) noexcept;

// y = (x - mean) / √(variance + epsilon) · weight + bias; weight, bias: nullptr for none.  Ba et al. 2016 (arXiv
// 1607.06450).
void layer_norm(const KernelTable& kernels, ParallelFor& threads, ConstRows x, const float* weight, const float* bias,
                float epsilon, std::int64_t rows, std::int64_t columns, Rows y) noexcept;

// y = e^(x - max x) / Σ e^(x - max x)
void softmax(const KernelTable& kernels, ParallelFor& threads, ConstRows x, std::int64_t rows, std::int64_t columns,
             Rows y) noexcept;

// y = act(x), and y = act(gate) · up or gpt-oss' form (elementwise.hpp).  y may be an input.
void activate(const KernelTable& kernels, ParallelFor& threads, Activation kind, ConstRows x, std::int64_t rows,
              std::int64_t columns, Rows y) noexcept;
void activate_gated(const KernelTable& kernels, ParallelFor& threads, const GatedActivation& gated, ConstRows gate,
                    ConstRows up, std::int64_t rows, std::int64_t columns, Rows y) noexcept;

// y = a + b; b's stride 0 adds one row (a bias) to all.
void add(const KernelTable& kernels, ParallelFor& threads, ConstRows a, ConstRows b, std::int64_t rows,
         std::int64_t columns, Rows y) noexcept;

}  // namespace mixtura
