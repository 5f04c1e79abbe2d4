// y[t] = Σ_k weight[t, k] · (down_{id[t, k]} · hidden[slot] + down_bias), k in the plan's order, then the shared
// expert: a chain of fused steps from 0.  One task owns a run of output rows and goes over all experts, so nothing is
// added across tasks and there is no barrier between down and the sum.
#include <algorithm>

#include "experts/mixture_call.hpp"
#include "experts/scratch_layout.hpp"

namespace mixtura {
namespace {

// Enough that the last task to finish keeps the other threads waiting little.
constexpr std::int64_t kTasksPerThread = 4;
// With fewer panels a task the hidden activations of all slots would pass by too often, once a task.
constexpr std::int64_t kRunPanelsMin = 4;

struct Chunk {
    std::int64_t first_token, token_count;
    std::int64_t first_panel, last_panel;
    float* outputs;  // [token_count, K] then [token_count] of the shared expert, rows of stride() floats
    std::int64_t stride() const noexcept { return (last_panel - first_panel) * kPanelRows; }
};

// Rows of the job whose tokens the chunk has; within an expert tokens ascend.
std::pair<std::int64_t, std::int64_t> rows_in_chunk(const MixtureCall& call, const ExpertJob& job,
                                                    const Chunk& chunk) noexcept {
    const std::int64_t last_token = chunk.first_token + chunk.token_count;
    if (job.is_shared) return {chunk.first_token, last_token};
    if (chunk.token_count == call.plan.tokens) return {0, job.row_count};
    const std::int32_t* tokens = call.plan.token_of_slot.data() + job.first_slot;
    const std::int32_t* end = tokens + job.row_count;
    const std::int32_t* first = std::lower_bound(tokens, end, chunk.first_token);
    return {first - tokens, std::lower_bound(first, end, last_token) - tokens};
}

void multiply(const MixtureCall& call, const ExpertJob& job, const Chunk& chunk) noexcept {
    const std::int64_t choices = call.plan.choices, stride = chunk.stride();
    const PackedMatrix& down = job.view->down;
    const std::int64_t width = std::min(chunk.last_panel * kPanelRows, down.rows) - chunk.first_panel * kPanelRows;
    const auto [first_row, last_row] = rows_in_chunk(call, job, chunk);
    for (std::int64_t row = first_row; row < last_row; row += kTokensPerCall) {
        const std::int64_t count = std::min(kTokensPerCall, last_row - row);
        const void* x[kTokensPerCall];
        float* y[kTokensPerCall];
        for (std::int64_t i = 0; i < count; ++i) {
            x[i] = job.hidden + (row + i) * job.row_bytes;
            const std::int64_t at = job.is_shared
                                        ? chunk.token_count * choices + row + i - chunk.first_token
                                        : call.choice_of_slot[job.first_slot + row + i] - chunk.first_token * choices;
            y[i] = chunk.outputs + at * stride;
        }
        matmul_panels(call.kernels, down, chunk.first_panel, chunk.last_panel, x, y, count);
        if (job.view->down_bias == nullptr) continue;
        for (std::int64_t i = 0; i < count; ++i)
            call.kernels.add(y[i], job.view->down_bias + chunk.first_panel * kPanelRows, width, y[i]);
    }
}

void mix(const MixtureCall& call, const Chunk& chunk) noexcept {
    const std::int64_t choices = call.plan.choices, stride = chunk.stride(), h = call.spec.hidden_size;
    const std::int64_t width = std::min(chunk.last_panel * kPanelRows, h) - chunk.first_panel * kPanelRows;
    for (std::int64_t i = 0; i < chunk.token_count; ++i) {
        const std::int64_t t = chunk.first_token + i;
        float* y = call.output + t * h + chunk.first_panel * kPanelRows;
        std::fill_n(y, width, 0.0F);
        for (std::int64_t k = 0; k < choices; ++k) {
            const auto choice = static_cast<std::size_t>(t * choices + k);
            if (call.plan.slot_of_token_choice[choice] < 0) continue;
            const float weight = call.spec.weight_at == WeightAt::input ? 1.0F : call.plan.weights[choice];
            call.kernels.add_scaled(chunk.outputs + (i * choices + k) * stride, weight, width, y);
        }
        if (!call.has_shared()) continue;
        const float* shared = chunk.outputs + (chunk.token_count * choices + i) * stride;
        call.kernels.add_scaled(shared, call.shared_factor[t], width, y);
    }
}

}  // namespace

MixDownShape mix_down_shape(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices, bool has_shared,
                            std::uint64_t pieces_bytes, int thread_count) noexcept {
    constexpr auto kRowBytes = static_cast<std::int64_t>(kPanelRows * sizeof(float));  // of one output, one panel
    const std::int64_t panels = panel_count(spec.hidden_size);
    const std::int64_t token_bytes = (choices + (has_shared ? 1 : 0)) * kRowBytes;
    const auto piece = static_cast<std::int64_t>(kPieceBytes);
    const std::int64_t fair = (panels + kTasksPerThread * thread_count - 1) / (kTasksPerThread * thread_count);
    const std::int64_t fitting = piece / std::max<std::int64_t>(tokens * token_bytes, 1);
    MixDownShape shape{};
    shape.run_panels = std::min(fair, std::max(fitting, kRunPanelsMin));
    shape.task_count = (panels + shape.run_panels - 1) / shape.run_panels;
    const std::int64_t in_flight = std::min<std::int64_t>(shape.task_count, thread_count);
    shape.piece_bytes = static_cast<std::int64_t>(pieces_bytes) / in_flight / 64 * 64;
    const std::int64_t run_bytes = std::max<std::int64_t>(token_bytes * shape.run_panels, 1);
    shape.chunk_tokens = std::clamp<std::int64_t>(std::min(piece, shape.piece_bytes) / run_bytes, 1, tokens);
    return shape;
}

void run_mix_down(const MixtureCall& call, const MixDownShape& shape, std::int64_t index, float* piece) noexcept {
    Chunk chunk{};
    chunk.first_panel = index * shape.run_panels;
    chunk.last_panel = std::min(chunk.first_panel + shape.run_panels, panel_count(call.spec.hidden_size));
    chunk.outputs = piece;
    for (std::int64_t t = 0; t < call.plan.tokens; t += shape.chunk_tokens) {
        chunk.first_token = t;
        chunk.token_count = std::min(shape.chunk_tokens, call.plan.tokens - t);
        for (const ExpertJob& job : call.jobs) multiply(call, job, chunk);
        mix(call, chunk);
    }
}

}  // namespace mixtura
