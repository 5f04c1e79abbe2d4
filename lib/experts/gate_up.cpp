// hidden[row, f] = act(gate[f] · x + gate_bias[f], up[f] · x + up_bias[f]), for one expert's rows and one run of
// panels. Gate and up of the same 32 rows lie side by side in this task's L1, so the activation and, where `down` reads
// int8 blocks, their quantisation happen before anything is stored.
#include <algorithm>

#include "experts/mixture_call.hpp"

namespace mixtura {
namespace {

// Rows of products on the stack: 12 KiB each for gate and up.  Two panels of kTokensPerCall tokens, or more panels of
// fewer tokens.
constexpr std::int64_t kBufferFloats = kTokensPerCall * 2 * kPanelRows;

struct Products {
    float gate[kBufferFloats];
    float up[kBufferFloats];
};

void multiply(const MixtureCall& call, const ExpertJob& job, const PackedMatrix& weights, std::int64_t first_row,
              std::int64_t row_count, std::int64_t first_panel, std::int64_t last_panel, float* products,
              const float* bias) noexcept {
    const std::int64_t stride = (last_panel - first_panel) * kPanelRows;
    const bool blocks = reads_blocks(weights);
    const void* x[kTokensPerCall];
    float* y[kTokensPerCall];
    for (std::int64_t i = 0; i < row_count; ++i) {
        x[i] = call.input_row(job, first_row + i, blocks);
        y[i] = products + i * stride;
    }
    matmul_panels(call.kernels, weights, first_panel, last_panel, x, y, row_count);
    if (bias == nullptr) return;
    const std::int64_t width = std::min(last_panel * kPanelRows, weights.rows) - first_panel * kPanelRows;
    for (std::int64_t i = 0; i < row_count; ++i) call.kernels.add(y[i], bias + first_panel * kPanelRows, width, y[i]);
}

// Activates `width` columns from `first` on of each row and stores them in the form `down` reads.
void finish(const MixtureCall& call, const ExpertJob& job, std::int64_t first_row, std::int64_t row_count,
            std::int64_t first, std::int64_t width, std::int64_t stride, Products& products) noexcept {
    const bool blocks = reads_blocks(job.view->down);
    for (std::int64_t i = 0; i < row_count; ++i) {
        float* up = products.up + i * stride;
        std::byte* row = job.hidden + (first_row + i) * job.row_bytes;
        float* out = blocks ? up : reinterpret_cast<float*>(row) + first;
        if (job.view->gate.data != nullptr) {
            call.kernels.activate_gated(call.activation, products.gate + i * stride, up, width, out);
        } else {
            call.kernels.activate(call.activation.kind, up, width, out);
        }
        if (blocks)
            call.kernels.quantise_row(out, width, reinterpret_cast<ActivationBlock*>(row) + first / kBlockColumns);
    }
}

}  // namespace

void run_gate_up(const MixtureCall& call, std::int64_t index) noexcept {
    const std::int64_t node = index / call.gate_up_tasks, task_of_node = index % call.gate_up_tasks;
    const auto after = std::upper_bound(call.jobs.begin(), call.jobs.end(), task_of_node,
                                        [](std::int64_t task, const ExpertJob& job) { return task < job.first_task; });
    const ExpertJob& job = *(after - 1);
    const ExpertView& view = *job.view;
    // On a node that has fewer panels of this expert than another the last tasks find none.
    const PanelShare share =
        panels_of_node(view.up, static_cast<std::size_t>(node), static_cast<std::size_t>(call.node_count));
    const std::int64_t strip_first = share.begin + (task_of_node - job.first_task) * job.strip_panels;
    const std::int64_t strip_last = std::min(strip_first + job.strip_panels, share.end);
    Products products;
    for (std::int64_t row = 0; row < job.row_count; row += kTokensPerCall) {
        const std::int64_t rows = std::min(kTokensPerCall, job.row_count - row);
        const std::int64_t panels_at_once = kBufferFloats / (rows * kPanelRows) / 2 * 2;
        for (std::int64_t panel = strip_first; panel < strip_last; panel += panels_at_once) {
            const std::int64_t last = std::min(panel + panels_at_once, strip_last);
            if (view.gate.data != nullptr)
                multiply(call, job, view.gate, row, rows, panel, last, products.gate, view.gate_bias);
            multiply(call, job, view.up, row, rows, panel, last, products.up, view.up_bias);
            const std::int64_t first = panel * kPanelRows;
            finish(call, job, row, rows, first, std::min(last * kPanelRows, view.up.rows) - first,
                   (last - panel) * kPanelRows, products);
        }
    }
}

}  // namespace mixtura
