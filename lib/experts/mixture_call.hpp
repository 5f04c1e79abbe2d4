// What the task lists of one run_mixture() share: its arguments, the parts of its scratch, and a job for each
// expert that has tokens.  mixture.cpp fills it, gate_up.cpp and mix_down.cpp work on it; it lives on run_mixture's
// stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "experts/mixture.hpp"
#include "kernels/activation_block.hpp"
#include "kernels/matmul.hpp"

namespace mixtura {

// An expert with tokens.  Row i of a routed one is slot first_slot + i, row i of the shared one token i.
struct ExpertJob {
    const ExpertView* view;
    std::int64_t first_slot;
    std::int64_t row_count;
    std::int64_t first_task;    // gate+up tasks in front of its own, on each node
    std::int64_t strip_panels;  // panels of gate and up a task takes, even
    std::byte* hidden;          // act(gate · x, up · x) of its rows, row_bytes apart
    std::int64_t row_bytes;
    bool is_shared;
};

struct MixtureCall {
    const KernelTable& kernels;
    const ExpertSpec& spec;
    const MixtureView& view;
    const RoutePlan& plan;
    const float* input;  // [T, H]
    float* output;       // [T, H]
    GatedActivation activation;

    ActivationBlock* input_blocks;
    float* scaled;
    ActivationBlock* scaled_blocks;
    float* shared_factor;
    std::int32_t* choice_of_slot;
    std::byte* pieces;

    std::span<ExpertJob> jobs;  // routed ones by expert, then the shared one
    // Nodes that gate and up are cut over, and tasks on each: the same number, so that one table serves all nodes.
    std::int64_t node_count;
    std::int64_t gate_up_tasks;

    bool has_shared() const noexcept { return view.shared.up.data != nullptr; }
    // f32 [H] or ActivationBlock [H / 32]: what a matrix of `job` that reads blocks, or does not, is multiplied with.
    const void* input_row(const ExpertJob& job, std::int64_t row, bool blocks) const noexcept {
        const std::int64_t h = spec.hidden_size;
        if (!job.is_shared && spec.weight_at == WeightAt::input) {
            const std::int64_t slot = job.first_slot + row;
            if (blocks) return scaled_blocks + slot * (h / kBlockColumns);
            return scaled + slot * h;
        }
        const std::int64_t t = job.is_shared ? row : plan.token_of_slot[static_cast<std::size_t>(job.first_slot + row)];
        if (blocks) return input_blocks + t * (h / kBlockColumns);
        return input + t * h;
    }
};

// Extents of a layer's matrices end here, so that no byte count of a row leaves int64.
inline constexpr std::uint64_t kHiddenRowMax = std::uint64_t{1} << 48;

// Bytes of one row of `width` hidden activations: as f32, and as blocks where they take those.
inline std::uint64_t hidden_row_bytes(std::int64_t width) noexcept {
    return (static_cast<std::uint64_t>(width) * sizeof(float) + 63) / 64 * 64;
}
inline std::int64_t hidden_row_bytes(std::int64_t width, bool blocks) noexcept {
    if (blocks) return width / kBlockColumns * static_cast<std::int64_t>(sizeof(ActivationBlock));
    return static_cast<std::int64_t>(hidden_row_bytes(width));
}

// Task `index` of the first list (node after node, expert after expert): hidden activations of one expert's rows for
// one run of its panels.
void run_gate_up(const MixtureCall& call, std::int64_t index) noexcept;

// How the second list is cut: tasks of `run_panels` panels of H, each over `chunk_tokens` tokens at a time, with
// `piece_bytes` of scratch a task in flight.
struct MixDownShape {
    std::int64_t run_panels;
    std::int64_t task_count;
    std::int64_t chunk_tokens;
    std::int64_t piece_bytes;
};
MixDownShape mix_down_shape(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices, bool has_shared,
                            std::uint64_t pieces_bytes, int thread_count) noexcept;

// Task `index` of the second list: one run of rows of the output for all tokens; `piece` is its alone while it runs.
void run_mix_down(const MixtureCall& call, const MixDownShape& shape, std::int64_t index, float* piece) noexcept;

}  // namespace mixtura
