// Attention whose queries and outputs go through experts (AttentionSpec::head_router): what attention_part calls in
// place of the query and the output projection.  An expert's rows lie head by head, so a head is a run of its panels.
#include <algorithm>

#include "base/error.hpp"
#include "kernels/matmul.hpp"
#include "model/forward.hpp"
#include "router/route.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kStripPanels = 8;  // of an output a task: 128 rows of 2048 columns in bf16 are 512 KiB

// Which of its token's choices a slot is.
std::int64_t choice_of_slot(const RoutePlan& plan, std::int64_t token, std::int64_t slot) noexcept {
    const auto first = plan.slot_of_token_choice.begin() + token * plan.choices;
    return std::find(first, first + plan.choices, static_cast<std::int32_t>(slot)) - first;
}

// Panels [first, last) of an expert's matrix for all its slots; x_of and y_of say where a token's choice lies.
template <class XOf, class YOf>
void multiply_slots(const KernelTable& kernels, const PackedMatrix& weights, const RoutePlan& plan, std::int64_t expert,
                    std::int64_t first, std::int64_t last, XOf x_of, YOf y_of) noexcept {
    const auto e = static_cast<std::size_t>(expert);
    for (std::int64_t slot = plan.offsets[e]; slot < plan.offsets[e + 1]; slot += kTokensPerCall) {
        const std::int64_t count = std::min(kTokensPerCall, plan.offsets[e + 1] - slot);
        const void* x[kTokensPerCall];
        float* y[kTokensPerCall];
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t token = plan.token_of_slot[static_cast<std::size_t>(slot + i)];
            const std::int64_t choice = choice_of_slot(plan, token, slot + i);
            x[i] = x_of(token, choice);
            y[i] = y_of(token, choice);
        }
        matmul_panels(kernels, weights, first, last, x, y, count);
    }
}

}  // namespace

// Into query [T, heads, key_width]; the router's choice into head_plan_.
Status ForwardPass::routed_queries(std::size_t l, std::int64_t rows, ParallelFor& threads) {
    const KernelTable& kernels = *kernels_;
    const AttentionSpec& spec = core_->spec.layers[l].attention;
    const RouterSpec& router = *spec.head_router;
    const HeadMixtureWeights& weights = core_->weights.layers[l].heads;
    gate_logits(kernels, threads, router, weights.router, scratch_.normed, rows, scratch_.inner, scratch_.router);
    MIXTURA_RETURN_IF_ERROR(choose_experts(kernels, threads, router.policy, router.expert_count, nullptr,
                                           scratch_.router, rows, {}, head_plan_));
    const std::int64_t hidden = core_->spec.hidden_size, row_blocks = hidden / kBlockColumns;
    const bool is_quantised = reads_blocks(weights.query[0]);
    if (is_quantised)
        quantise_activations(kernels, threads, scratch_.normed, hidden, rows, hidden, scratch_.blocks, row_blocks);
    const std::int64_t width = spec.query_heads * spec.key_width, panels = spec.key_width / kPanelRows;
    parallel_for(threads, router.expert_count * spec.kv_heads, [&](std::int64_t task, int) noexcept {
        const std::int64_t expert = task / spec.kv_heads, head = task % spec.kv_heads;
        multiply_slots(
            kernels, weights.query[static_cast<std::size_t>(expert)], head_plan_, expert, head * panels,
            (head + 1) * panels,
            [&](std::int64_t token, std::int64_t) -> const void* {
                if (is_quantised) return scratch_.blocks + token * row_blocks;
                return scratch_.normed + token * hidden;
            },
            [&](std::int64_t token, std::int64_t choice) {
                return scratch_.query + token * width + (head * head_plan_.choices + choice) * spec.key_width;
            });
    });
    clock_.lap(Op::projection);
    return {};
}

// From mixed [T, heads, value_width]: each choice's heads through its expert, by the choices' weights, in their order.
void ForwardPass::routed_output(std::size_t l, std::int64_t rows, ParallelFor& threads) noexcept {
    const KernelTable& kernels = *kernels_;
    const AttentionSpec& spec = core_->spec.layers[l].attention;
    const HeadMixtureWeights& weights = core_->weights.layers[l].heads;
    const float* bias = core_->weights.layers[l].output.bias;
    const std::int64_t hidden = core_->spec.hidden_size, choices = head_plan_.choices;
    const std::int64_t head_width = spec.value_width, width = spec.kv_heads * head_width;
    const std::int64_t row_blocks = width / kBlockColumns;
    // Choice by choice in query, whose rows are as wide.
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        const float* from = scratch_.mixed + row * choices * width;
        for (std::int64_t head = 0; head < spec.kv_heads; ++head) {
            for (std::int64_t choice = 0; choice < choices; ++choice, from += head_width)
                std::copy(from, from + head_width,
                          scratch_.query + (row * choices + choice) * width + head * head_width);
        }
    });
    const bool is_quantised = reads_blocks(weights.output[0]);
    if (is_quantised)
        quantise_activations(kernels, threads, scratch_.query, width, rows * choices, width, scratch_.blocks,
                             row_blocks);
    const std::int64_t panels = panel_count(hidden), strips = (panels + kStripPanels - 1) / kStripPanels;
    parallel_for(threads, head_plan_.experts * strips, [&](std::int64_t task, int) noexcept {
        const std::int64_t expert = task / strips, first = task % strips * kStripPanels;
        multiply_slots(
            kernels, weights.output[static_cast<std::size_t>(expert)], head_plan_, expert, first,
            std::min(first + kStripPanels, panels),
            [&](std::int64_t token, std::int64_t choice) -> const void* {
                if (is_quantised) return scratch_.blocks + (token * choices + choice) * row_blocks;
                return scratch_.query + (token * choices + choice) * width;
            },
            [&](std::int64_t token, std::int64_t choice) {
                return scratch_.latent + (token * choices + choice) * hidden + first * kPanelRows;
            });
    });
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        float* sum = scratch_.normed + row * hidden;
        std::fill_n(sum, hidden, 0.0F);
        for (std::int64_t choice = 0; choice < choices; ++choice) {
            const auto at = static_cast<std::size_t>(row * choices + choice);
            if (head_plan_.slot_of_token_choice[at] < 0) continue;
            kernels.add_scaled(scratch_.latent + static_cast<std::int64_t>(at) * hidden, head_plan_.weights[at], hidden,
                               sum);
        }
        if (bias != nullptr) kernels.add(sum, bias, hidden, sum);
    });
}

}  // namespace mixtura
