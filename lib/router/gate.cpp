// gate_logits: from hidden states to logits.
//   one layer    logits = W x (+ b)                              Shazeer et al. 2017 (arXiv 1701.06538), (4), no noise
//   two layers   logits = W act(W_inner x) (+ b), act relu or silu
#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "router/route.hpp"

namespace mixtura {

void gate_logits(const KernelTable& kernels, ParallelFor& threads, const RouterSpec& spec, const GateView& view,
                 const float* hidden, std::int64_t tokens, float* inner, float* logits) noexcept {
    MatmulInput x{.values = hidden, .values_stride = spec.hidden_size, .token_count = tokens};
    if (view.inner_gate.data != nullptr) {
        const std::int64_t width = spec.gate_width;
        matmul(kernels, threads, view.inner_gate, x, inner, width);
        activate(kernels, threads, spec.is_inner_relu ? Activation::relu : Activation::silu, {inner, width}, tokens,
                 width, {inner, width});
        x.values = inner;
        x.values_stride = width;
    }
    matmul(kernels, threads, view.gate, x, logits, spec.expert_count);
    if (view.gate_bias != nullptr) {
        add(kernels, threads, {logits, spec.expert_count}, {view.gate_bias, 0}, tokens, spec.expert_count,
            {logits, spec.expert_count});
    }
}

}  // namespace mixtura
