#include "kernels/matmul.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/quant/decode.hpp"

namespace mixtura {
namespace {

// A task's share of the weights: small enough to stay in a 2 MiB L2 beside 96 tokens' activations (288 KiB at K = 2048)
// while those tokens pass over it, large enough that claiming it costs nothing.
constexpr std::int64_t kStripBytes = 256 << 10;
// Below this many multiply-adds waking other threads costs more than they save (some 10 µs of one thread).
constexpr std::int64_t kWorthSharing = 1 << 18;
constexpr std::int64_t kTasksPerThread = 4;  // so that the last thread to finish keeps the others waiting little

// Sixteen rows of a file, decoded a piece at a time into a panel of f32; the chain of each output goes on from piece to
// piece.  16 KiB a piece: both copies stay in L1.
constexpr std::int64_t kPieceColumns = 256;

void decode_piece(DType dtype, const std::byte* rows, std::int64_t row_bytes, std::int64_t row_count,
                  std::int64_t columns, float* panel) noexcept {
    float values[kPieceColumns];
    const auto block_count = static_cast<std::size_t>(columns / dtype_info(dtype).block_elements);
    for (std::int64_t r = 0; r < kPanelRows; ++r) {
        if (r < row_count) decoder(dtype)(rows + r * row_bytes, values, block_count);
        for (std::int64_t k = 0; k < columns; ++k) panel[k * kPanelRows + r] = r < row_count ? values[k] : 0.0F;
    }
}

void multiply_file_rows(const KernelTable& kernels, const PackedMatrix& weights, std::int64_t panel,
                        const std::byte* rows, const void* const* x, float* const* y,
                        std::int64_t token_count) noexcept {
    const DTypeInfo& info = dtype_info(weights.dtype);
    const std::int64_t row_bytes = weights.columns / info.block_elements * info.block_bytes;
    const std::int64_t row_count = std::min(kPanelRows, weights.rows - panel * kPanelRows);
    float piece[kPieceColumns * kPanelRows];
    const void* x_piece[kTokensPerCall];
    for (std::int64_t k = 0; k < weights.columns; k += kPieceColumns) {
        const std::int64_t columns = std::min(kPieceColumns, weights.columns - k);
        decode_piece(weights.dtype, rows + k / info.block_elements * info.block_bytes, row_bytes, row_count, columns,
                     piece);
        for (std::int64_t t = 0; t < token_count; ++t) x_piece[t] = static_cast<const float*>(x[t]) + k;
        kernels.product[product_index(DType::f32)]({.panels = reinterpret_cast<const std::byte*>(piece),
                                                    .panel_bytes = sizeof piece,
                                                    .panel_count = 1,
                                                    .columns = columns,
                                                    .x = x_piece,
                                                    .y = y,
                                                    .token_count = token_count,
                                                    .accumulate = k != 0});
    }
}

// Panels that lie one behind another at `panels`.
void multiply_run(const KernelTable& kernels, const PackedMatrix& weights, const std::byte* panels,
                  std::int64_t first_panel, std::int64_t count, const void* const* x, float* const* y,
                  std::int64_t token_count) noexcept {
    const std::int64_t bytes = panel_bytes(weights.dtype, weights.columns);
    if (panel_kind(weights.dtype) == PanelKind::file_rows) {
        float* y_panel[kTokensPerCall];
        for (std::int64_t p = 0; p < count; ++p) {
            for (std::int64_t t = 0; t < token_count; ++t) y_panel[t] = y[t] + p * kPanelRows;
            multiply_file_rows(kernels, weights, first_panel + p, panels + p * bytes, x, y_panel, token_count);
        }
        return;
    }
    kernels.product[product_index(weights.dtype)]({.panels = panels,
                                                   .panel_bytes = bytes,
                                                   .panel_count = count,
                                                   .columns = weights.columns,
                                                   .x = x,
                                                   .y = y,
                                                   .token_count = token_count,
                                                   .accumulate = false});
}

// Whole panels: all 16 outputs of each are stored.
void multiply_panels(const KernelTable& kernels, const PackedMatrix& weights, std::int64_t first_panel,
                     std::int64_t last_panel, const void* const* x, float* const* y,
                     std::int64_t token_count) noexcept {
    const std::int64_t bytes = panel_bytes(weights.dtype, weights.columns);
    PanelRun run = panel_run(weights.parts, bytes, first_panel, last_panel);
    multiply_run(kernels, weights, weights.data + run.offset_bytes, first_panel, run.last_panel - first_panel, x, y,
                 token_count);
    float* y_run[kTokensPerCall];
    for (std::int64_t panel = run.last_panel; panel < last_panel; panel = run.last_panel) {
        run = panel_run(weights.parts, bytes, panel, last_panel);
        for (std::int64_t t = 0; t < token_count; ++t) y_run[t] = y[t] + (panel - first_panel) * kPanelRows;
        multiply_run(kernels, weights, weights.data + run.offset_bytes, panel, run.last_panel - panel, x, y_run,
                     token_count);
    }
}

// Activations in the order of the columns, as blocks.  Every task gathers for itself what its panels read: beside their
// products, hundreds a gathered element, that is little, and nobody else needs to know of the order.
// Never inline: its stack is for these products alone.
[[gnu::noinline]] void multiply_ordered(const KernelTable& kernels, const PackedMatrix& weights,
                                        std::int64_t first_panel, std::int64_t last_panel, const void* const* x,
                                        float* const* y, std::int64_t token_count) noexcept {
    ActivationBlock blocks[kOrderedColumnsMax / kBlockColumns];  // 64 KiB
    PackedMatrix in_order = weights;
    in_order.order = nullptr;
    const std::int64_t row_blocks = weights.columns / kBlockColumns;
    const std::int64_t at_once =
        std::clamp<std::int64_t>(std::ssize(blocks) / std::max<std::int64_t>(row_blocks, 1), 1, kTokensPerCall);
    const void* rows[kTokensPerCall];
    for (std::int64_t first = 0; first < token_count; first += at_once) {
        const std::int64_t count = std::min(at_once, token_count - first);
        for (std::int64_t t = 0; t < count; ++t) {
            const auto* values = static_cast<const float*>(x[first + t]);
            ActivationBlock* row = blocks + t * row_blocks;
            rows[t] = row;
            float piece[kPieceColumns];
            for (std::int64_t k = 0; k < weights.columns; k += kPieceColumns) {
                const std::int64_t columns = std::min(kPieceColumns, weights.columns - k);
                for (std::int64_t i = 0; i < columns; ++i) piece[i] = values[weights.order[k + i]];
                kernels.quantise_row(piece, columns, row + k / kBlockColumns);
            }
        }
        matmul_panels(kernels, in_order, first_panel, last_panel, rows, y + first, count);
    }
}

}  // namespace

void quantise_activations(const KernelTable& kernels, ParallelFor& threads, const float* values,
                          std::int64_t values_stride, std::int64_t token_count, std::int64_t columns,
                          ActivationBlock* blocks, std::int64_t blocks_stride) noexcept {
    parallel_for(threads, token_count, [&](std::int64_t t, int) noexcept {
        kernels.quantise_row(values + t * values_stride, columns, blocks + t * blocks_stride);
    });
}

void matmul_panels(const KernelTable& kernels, const PackedMatrix& weights, std::int64_t first_panel,
                   std::int64_t last_panel, const void* const* x, float* const* y, std::int64_t token_count) noexcept {
    if (weights.order != nullptr) return multiply_ordered(kernels, weights, first_panel, last_panel, x, y, token_count);
    const std::int64_t whole_last = std::min(last_panel, weights.rows / kPanelRows);
    if (first_panel < whole_last) multiply_panels(kernels, weights, first_panel, whole_last, x, y, token_count);
    if (whole_last == last_panel) return;
    // The last rows are no whole panel: their outputs go through a buffer.
    float outputs[kTokensPerCall * kPanelRows];
    float* y_buffer[kTokensPerCall];
    for (std::int64_t t = 0; t < token_count; ++t) y_buffer[t] = outputs + t * kPanelRows;
    const std::int64_t tail_panel = last_panel - 1;
    multiply_panels(kernels, weights, tail_panel, last_panel, x, y_buffer, token_count);
    const auto tail_bytes = static_cast<std::size_t>(weights.rows - tail_panel * kPanelRows) * sizeof(float);
    for (std::int64_t t = 0; t < token_count; ++t) {
        std::memcpy(y[t] + (tail_panel - first_panel) * kPanelRows, y_buffer[t], tail_bytes);
    }
}

void matmul(const KernelTable& kernels, ParallelFor& threads, const PackedMatrix& weights, const MatmulInput& x,
            float* y, std::int64_t y_stride) noexcept {
    const std::int64_t panels = panel_count(weights.rows);
    if (panels == 0 || x.token_count <= 0) return;
    const bool blocks = reads_blocks(weights);
    const std::int64_t thread_count = threads.thread_count();
    const std::int64_t bytes = std::max<std::int64_t>(panel_bytes(weights.dtype, weights.columns), 1);
    const std::int64_t fair = (panels + kTasksPerThread * thread_count - 1) / (kTasksPerThread * thread_count);
    const std::int64_t strip = std::clamp<std::int64_t>(kStripBytes / bytes, 1, fair);
    const std::int64_t strips = (panels + strip - 1) / strip;
    const std::int64_t chunks = (x.token_count + kTokensPerCall - 1) / kTokensPerCall;

    // Strips outside, token chunks inside: neighbours in time share their weights.
    const auto run = [&](std::int64_t index, int) noexcept {
        const std::int64_t first_panel = index / chunks * strip, first_token = index % chunks * kTokensPerCall;
        const std::int64_t last_panel = std::min(first_panel + strip, panels);
        const std::int64_t token_count = std::min(kTokensPerCall, x.token_count - first_token);
        const void* x_rows[kTokensPerCall];
        float* y_rows[kTokensPerCall];
        for (std::int64_t t = 0; t < token_count; ++t) {
            const std::int64_t token = first_token + t;
            x_rows[t] = blocks ? static_cast<const void*>(x.blocks + token * x.blocks_stride)
                               : x.values + token * x.values_stride;
            y_rows[t] = y + token * y_stride + first_panel * kPanelRows;
        }
        matmul_panels(kernels, weights, first_panel, last_panel, x_rows, y_rows, token_count);
    };
    SerialFor alone;
    const bool shared = weights.rows * weights.columns >= kWorthSharing / x.token_count;
    parallel_for(shared ? threads : static_cast<ParallelFor&>(alone), strips * chunks, run,
                 NodeEnds(weights, strip, chunks));
}

}  // namespace mixtura
