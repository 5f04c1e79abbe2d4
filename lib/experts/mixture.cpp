// run_mixture: three task lists, a barrier behind each, whatever the number of experts.
//   0  per token: int8 blocks of x where a matrix reads them, weight · x by slot where the weight is at the input, and
//      shared_scale · sigmoid(shared_gate · x)
//   1  (expert with tokens, run of F): gate and up, activation                       gate_up.cpp
//   2  (run of H) over all experts: down, and the sum over a token's choices          mix_down.cpp
// The shared expert is one more expert with all tokens.  Every step is a function of one token's values alone, and all
// sums have a fixed order: kernels/README.md, mix_down.cpp.
#include "experts/mixture.hpp"

#include <algorithm>
#include <iterator>

#include "experts/mixture_call.hpp"
#include "experts/scratch_layout.hpp"

namespace mixtura {
namespace {

// As in matmul.cpp: weights that stay in L2 while tokens pass over them, and what is worth waking a thread for.
constexpr std::int64_t kStripBytes = 256 << 10;
constexpr std::int64_t kWorthSharing = 1 << 18;
constexpr std::int64_t kTasksPerThread = 4;
constexpr std::int64_t kTokensPerTask = 8;  // of list 0: the shared gate's one row is read once for all of them

Activation activation_kind(ExpertActivation activation) noexcept {
    switch (activation) {
        case ExpertActivation::silu: return Activation::silu;
        case ExpertActivation::gelu: return Activation::gelu_erf;
        case ExpertActivation::gelu_tanh: return Activation::gelu_tanh;
        case ExpertActivation::quick_gelu: return Activation::quick_gelu;
        case ExpertActivation::relu: return Activation::relu;
    }
    return Activation::silu;
}

// Which forms of x and of weight · x some matrix reads.
struct Forms {
    bool input_blocks = false, scaled_blocks = false;
};

bool reads_input_blocks(const ExpertView& view) noexcept {
    return reads_blocks(view.up) || (view.gate.data != nullptr && reads_blocks(view.gate));
}

// Lists the experts with tokens and cuts their panels into tasks.
void make_jobs(MixtureCall& call, const ScratchLayout& layout, std::byte* scratch, int thread_count,
               Forms& forms) noexcept {
    const RoutePlan& plan = call.plan;
    auto* jobs = reinterpret_cast<ExpertJob*>(scratch + layout.jobs);
    std::size_t count = 0;
    std::int64_t panel_rows = 0;  // panels times rows: the work of list 1
    const auto add = [&](const ExpertView& view, std::int64_t first_slot, std::int64_t rows, bool is_shared) {
        const std::int64_t width = view.up.rows;
        const std::int64_t row_bytes = hidden_row_bytes(width, reads_blocks(view.down));
        std::byte* hidden =
            is_shared ? scratch + layout.shared
                      : scratch + layout.routed + first_slot * static_cast<std::int64_t>(hidden_row_bytes(width));
        jobs[count++] = {&view, first_slot, rows, 0, 2, hidden, row_bytes, is_shared};
        panel_rows += panel_count(width) * rows;
        const bool from_scaled = !is_shared && call.spec.weight_at == WeightAt::input;
        if (reads_input_blocks(view)) (from_scaled ? forms.scaled_blocks : forms.input_blocks) = true;
    };
    for (std::size_t e = 0; e < call.view.experts.size(); ++e) {
        const std::int64_t rows = plan.offsets[e + 1] - plan.offsets[e];
        if (rows > 0) add(call.view.experts[e], plan.offsets[e], rows, false);
    }
    if (call.has_shared()) add(call.view.shared, 0, plan.tokens, true);
    call.jobs = {jobs, count};
    if (count > 0) call.node_count = std::max<std::int64_t>(std::ssize(jobs[0].view->up.parts), 1);

    const std::int64_t fair = panel_rows / (kTasksPerThread * thread_count);
    for (ExpertJob& job : call.jobs) {
        const ExpertView& view = *job.view;
        std::int64_t bytes = panel_bytes(view.up.dtype, view.up.columns);
        if (view.gate.data != nullptr) bytes += panel_bytes(view.gate.dtype, view.gate.columns);
        const std::int64_t strip = std::min(kStripBytes / std::max<std::int64_t>(bytes, 1), fair / job.row_count);
        job.strip_panels = std::max<std::int64_t>(strip / 2 * 2, 2);
        job.first_task = call.gate_up_tasks;
        std::int64_t most = 0;  // panels on a node
        for (std::int64_t node = 0; node < call.node_count; ++node) {
            const PanelShare share =
                panels_of_node(view.up, static_cast<std::size_t>(node), static_cast<std::size_t>(call.node_count));
            most = std::max(most, share.end - share.begin);
        }
        call.gate_up_tasks += (most + job.strip_panels - 1) / job.strip_panels;
    }
}

// List 0 for tokens [first, last).
void prepare(const MixtureCall& call, const Forms& forms, std::int64_t first, std::int64_t last) noexcept {
    const RoutePlan& plan = call.plan;
    const std::int64_t h = call.spec.hidden_size, row_blocks = h / kBlockColumns;
    const bool is_scaled = call.spec.weight_at == WeightAt::input;
    for (std::int64_t t = first; t < last; ++t) {
        const float* x = call.input + t * h;
        if (forms.input_blocks) call.kernels.quantise_row(x, h, call.input_blocks + t * row_blocks);
        for (std::int64_t k = 0; k < plan.choices; ++k) {
            const std::int64_t choice = t * plan.choices + k;
            const std::int64_t slot = plan.slot_of_token_choice[static_cast<std::size_t>(choice)];
            if (slot < 0) continue;
            call.choice_of_slot[slot] = static_cast<std::int32_t>(choice);
            if (!is_scaled) continue;
            call.kernels.scale(x, plan.weights[static_cast<std::size_t>(choice)], h, call.scaled + slot * h);
            if (forms.scaled_blocks)
                call.kernels.quantise_row(call.scaled + slot * h, h, call.scaled_blocks + slot * row_blocks);
        }
    }
    if (!call.has_shared()) return;
    const PackedMatrix& gate = call.view.shared_gate;
    if (gate.data == nullptr)
        return std::fill(call.shared_factor + first, call.shared_factor + last, call.spec.shared_scale);
    const void* x[kTokensPerTask];
    float logits[kTokensPerTask];
    float* y[kTokensPerTask];
    for (std::int64_t i = 0; i < last - first; ++i) {
        x[i] = reads_blocks(gate) ? static_cast<const void*>(call.input_blocks + (first + i) * row_blocks)
                                  : call.input + (first + i) * h;
        y[i] = logits + i;
    }
    matmul_panels(call.kernels, gate, 0, 1, x, y, last - first);
    call.kernels.activate(Activation::sigmoid, logits, last - first, logits);
    call.kernels.scale(logits, call.spec.shared_scale, last - first, call.shared_factor + first);
}

}  // namespace

void run_mixture(const KernelTable& kernels, ParallelFor& threads, const ExpertSpec& spec, const MixtureView& view,
                 const float* hidden, const RoutePlan& plan, MixtureScratch& scratch, float* output) noexcept {
    if (plan.tokens <= 0) return;
    const std::optional<ScratchLayout> sizes = ScratchLayout::of(spec, plan.tokens, plan.choices);
    if (!sizes) return;  // reserve() has refused these sizes
    const ScratchLayout& layout = *sizes;
    std::byte* base = scratch.data();
    MixtureCall call{
        .kernels = kernels,
        .spec = spec,
        .view = view,
        .plan = plan,
        .input = hidden,
        .output = output,
        .activation = {.kind = activation_kind(spec.activation), .limit = spec.clamp_limit, .alpha = spec.clamp_alpha},
        .input_blocks = reinterpret_cast<ActivationBlock*>(base + layout.input_blocks),
        .scaled = reinterpret_cast<float*>(base + layout.scaled),
        .scaled_blocks = reinterpret_cast<ActivationBlock*>(base + layout.scaled_blocks),
        .shared_factor = reinterpret_cast<float*>(base + layout.shared_factor),
        .choice_of_slot = reinterpret_cast<std::int32_t*>(base + layout.choice_of_slot),
        .pieces = base + layout.pieces,
        .jobs = {},
        .node_count = 1,
        .gate_up_tasks = 0};
    Forms forms;
    make_jobs(call, layout, base, threads.thread_count(), forms);
    if (view.shared_gate.data != nullptr && reads_blocks(view.shared_gate)) forms.input_blocks = true;

    // Small work stays on this thread.
    SerialFor alone;
    std::int64_t rows = 0;
    for (const ExpertJob& job : call.jobs) rows += job.row_count * job.view->up.rows / kPanelRows;
    const auto crew = [&](std::int64_t operations) -> ParallelFor& {
        return operations >= kWorthSharing ? threads : static_cast<ParallelFor&>(alone);
    };
    const std::int64_t work = rows * kPanelRows * spec.hidden_size;

    const std::int64_t prepare_tasks = (plan.tokens + kTokensPerTask - 1) / kTokensPerTask;
    parallel_for(crew(plan.tokens * spec.hidden_size), prepare_tasks, [&](std::int64_t i, int) noexcept {
        prepare(call, forms, i * kTokensPerTask, std::min((i + 1) * kTokensPerTask, plan.tokens));
    });
    std::int64_t node_ends[kNodesMax];
    const auto nodes = static_cast<std::size_t>(call.node_count);
    for (std::size_t node = 0; node < nodes; ++node)
        node_ends[node] = static_cast<std::int64_t>(node + 1) * call.gate_up_tasks;
    parallel_for(crew(work), call.node_count * call.gate_up_tasks,
                 [&](std::int64_t i, int) noexcept { run_gate_up(call, i); }, {node_ends, nodes});

    ParallelFor& mixers = crew(work);
    const MixDownShape shape =
        mix_down_shape(spec, plan.tokens, plan.choices, call.has_shared(), layout.pieces_bytes, mixers.thread_count());
    const bool piece_of_task = shape.task_count <= mixers.thread_count();
    const auto run_task = [&](std::int64_t i, int worker) noexcept {
        std::byte* piece = call.pieces + (piece_of_task ? i : worker) * shape.piece_bytes;
        run_mix_down(call, shape, i, reinterpret_cast<float*>(piece));
    };
    const PackedMatrix none;
    parallel_for(mixers, shape.task_count, run_task,
                 NodeEnds(call.jobs.empty() ? none : call.jobs[0].view->down, shape.run_panels, 1));
}

}  // namespace mixtura
