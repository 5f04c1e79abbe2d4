#include "kernels/rows.hpp"

#include <algorithm>

namespace mixtura {
namespace {

// A task takes so many rows that it does at least this many elements (some 2 µs): one token's norm is not worth a
// thread.
constexpr std::int64_t kTaskElements = 4096;

template <class Body>
void for_rows(ParallelFor& threads, std::int64_t rows, std::int64_t columns, const Body& body) noexcept {
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskElements / std::max<std::int64_t>(columns, 1));
    parallel_for(threads, (rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task, int) noexcept {
        const std::int64_t last = std::min(rows, (task + 1) * rows_per_task);
        for (std::int64_t row = task * rows_per_task; row < last; ++row) body(row);
    });
}

}  // namespace

void rms_norm(const KernelTable& kernels, ParallelFor& threads, ConstRows x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t columns, Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.rms_norm_row(x.data + row * x.stride, weight, epsilon, columns, y.data + row * y.stride);
    });
}

void layer_norm(const KernelTable& kernels, ParallelFor& threads, ConstRows x, const float* weight, const float* bias,
                float epsilon, std::int64_t rows, std::int64_t columns, Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.layer_norm_row(x.data + row * x.stride, weight, bias, epsilon, columns, y.data + row * y.stride);
    });
}

void softmax(const KernelTable& kernels, ParallelFor& threads, ConstRows x, std::int64_t rows, std::int64_t columns,
             Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.softmax_row(x.data + row * x.stride, columns, y.data + row * y.stride);
    });
}

void activate(const KernelTable& kernels, ParallelFor& threads, Activation kind, ConstRows x, std::int64_t rows,
              std::int64_t columns, Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.activate(kind, x.data + row * x.stride, columns, y.data + row * y.stride);
    });
}

void activate_gated(const KernelTable& kernels, ParallelFor& threads, const GatedActivation& gated, ConstRows gate,
                    ConstRows up, std::int64_t rows, std::int64_t columns, Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.activate_gated(gated, gate.data + row * gate.stride, up.data + row * up.stride, columns,
                               y.data + row * y.stride);
    });
}

void add(const KernelTable& kernels, ParallelFor& threads, ConstRows a, ConstRows b, std::int64_t rows,
         std::int64_t columns, Rows y) noexcept {
    for_rows(threads, rows, columns, [&](std::int64_t row) noexcept {
        kernels.add(a.data + row * a.stride, b.data + row * b.stride, columns, y.data + row * y.stride);
    });
}

}  // namespace mixtura
