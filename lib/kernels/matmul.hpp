// The matrix product y[T, N] = x[T, K] · W[N, K]^T of every linear layer, over a packed matrix.  Any T, any N, any
// dtype that packed_bytes accepts; the same bits for a token whatever T, whatever the back-end, however many threads.
// README.md has the formulas; matmul_file_rows in ref/ref.hpp is the oracle.
#pragma once

#include <cstdint>

#include "kernels/kernel_table.hpp"
#include "kernels/layout.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// T rows of activations.  A matrix reads `blocks` or `values`, as reads_blocks() says; the other may be nullptr.
struct MatmulInput {
    const float* values = nullptr;            // [T, K] f32
    std::int64_t values_stride = 0;           // floats from row to row, at least K
    const ActivationBlock* blocks = nullptr;  // [T, K / 32]
    std::int64_t blocks_stride = 0;           // blocks from row to row, at least K / 32
    std::int64_t token_count = 0;             // T
};

inline bool reads_blocks(DType dtype) noexcept { return panel_kind(dtype) == PanelKind::integer; }
// A matrix whose columns have an order of their own reads `values` whatever its dtype: its blocks are its alone.
inline bool reads_blocks(const PackedMatrix& weights) noexcept {
    return weights.order == nullptr && reads_blocks(weights.dtype);
}

// blocks [T, K / 32] of values [T, K]; K % 32 == 0.
void quantise_activations(const KernelTable& kernels, ParallelFor& threads, const float* values,
                          std::int64_t values_stride, std::int64_t token_count, std::int64_t columns,
                          ActivationBlock* blocks, std::int64_t blocks_stride) noexcept;

// y [T, N] f32, y_stride floats from row to row, overwritten.  y overlaps nothing.
void matmul(const KernelTable& kernels, ParallelFor& threads, const PackedMatrix& weights, const MatmulInput& x,
            float* y, std::int64_t y_stride) noexcept;

// The same for chosen panels and tokens, on the calling thread: the building block of tasks that do more than one
// product. x[t]: a row of blocks or values, as reads_blocks says · y[t]: where row 16 · first_panel of the output goes;
// exactly the rows of these panels that exist are written.  At most kTokensPerCall tokens.
inline constexpr std::int64_t kTokensPerCall = 96;
void matmul_panels(const KernelTable& kernels, const PackedMatrix& weights, std::int64_t first_panel,
                   std::int64_t last_panel, const void* const* x, float* const* y, std::int64_t token_count) noexcept;

}  // namespace mixtura
