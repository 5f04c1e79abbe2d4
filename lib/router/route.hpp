// The gate and the choice behind Router, on views: what a forward pass calls for each mixture layer with its own
// threads and scratch.  router.cpp wraps both into the public object.
#pragma once

#include <mixtura/router.hpp>

#include "kernels/kernel_table.hpp"
#include "kernels/layout.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// Weights of one layer's gate; F32, F16 or BF16 panels.
struct GateView {
    PackedMatrix gate;                      // [E, H], or [E, gate_width] of a two-layer gate
    PackedMatrix inner_gate;                // [gate_width, H]; data nullptr: one layer
    const float* gate_bias = nullptr;       // [E]; nullptr: none
    const float* selection_bias = nullptr;  // [E]; nullptr: none
};

// logits [T, E] of hidden [T, H].  inner: scratch [T, gate_width], unused by a one-layer gate.
void gate_logits(const KernelTable& kernels, ParallelFor& threads, const RouterSpec& spec, const GateView& view,
                 const float* hidden, std::int64_t tokens, float* inner, float* logits) noexcept;

// The choice, as Router::route_logits says; logits [T, E] are changed.  Allocates only where `plan` has to grow.  Pre:
// the floating-point environment is the defined one, as for every kernel.
Status choose_experts(const KernelTable& kernels, ParallelFor& threads, const RouterPolicy& policy,
                      std::int64_t expert_count, const float* selection_bias, float* logits, std::int64_t tokens,
                      std::span<const std::uint8_t> padding_mask, RoutePlan& plan);

// The same with the widest back-end of this machine; every one gives the same bits.
Status choose_experts(ParallelFor& threads, const RouterPolicy& policy, std::int64_t expert_count,
                      const float* selection_bias, float* logits, std::int64_t tokens,
                      std::span<const std::uint8_t> padding_mask, RoutePlan& plan);

}  // namespace mixtura
