// The activation functions of feed-forward layers, one element each: formula, source, order of operations.
//   silu        x / (1 + e^-x)                                            Ramachandran et al. 2017 (arXiv 1710.05941),
//   beta 1 gelu_erf    0.5 · x · (1 + erf(x / √2))                               Hendrycks & Gimpel 2016 (arXiv
//   1606.08415), (1) gelu_tanh   x / (1 + e^(-2u)), u = √(2/π) · (x + 0.044715 x³)         the same, (2): 0.5 x (1 +
//   tanh u), rewritten so
//               that nothing cancels for negative x
//   quick_gelu  x / (1 + e^(-1.702 x))                                    the same, (3)
//   relu        x below 0 becomes 0; NaN and -0 pass
//   sigmoid     1 / (1 + e^-x), sigmoid_f32
// Gated: act(gate) · up (Shazeer 2020, arXiv 2002.05202); with a limit, as gpt-oss has it:
//   g = min(gate, limit), u = max(-limit, min(up, limit)):   (u + 1) · (g / (1 + e^(-alpha g)))
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/math.hpp"

namespace mixtura {

inline constexpr float kRootHalf32 = 0x1.6a09e6p-1F;  // √½
inline constexpr float kGeluCubic32 = 0.044715F;
inline constexpr float kGeluSlope32 = 0x1.988454p0F;  // 2 √(2/π)
inline constexpr float kQuickGelu32 = 1.702F;

inline float activation_f32(Activation kind, float x) noexcept {
    switch (kind) {
        case Activation::silu: return x / (1.0F + exp_f32(-x));
        case Activation::gelu_erf: return (0.5F * x) * (1.0F + erf_f32(x * kRootHalf32));
        case Activation::gelu_tanh: {
            const float u = std::fma(kGeluCubic32 * (x * x), x, x);
            return x / (1.0F + exp_f32(-(kGeluSlope32 * u)));
        }
        case Activation::quick_gelu: return x / (1.0F + exp_f32(-(kQuickGelu32 * x)));
        case Activation::relu: return 0.0F > x ? 0.0F : x;
        case Activation::sigmoid: return sigmoid_f32(x);
    }
    return x;
}

inline float gated_activation_f32(const GatedActivation& gated, float gate, float up) noexcept {
    if (!(gated.limit > 0.0F)) return activation_f32(gated.kind, gate) * up;
    const float g = gated.limit < gate ? gated.limit : gate;
    float u = gated.limit < up ? gated.limit : up;
    u = -gated.limit > u ? -gated.limit : u;
    return (u + 1.0F) * (g / (1.0F + exp_f32(-(gated.alpha * g))));
}

}  // namespace mixtura
