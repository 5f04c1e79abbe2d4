// The contract between the entry points (matmul, norm, attention, ...) and the instruction sets: one table of functions
// a back-end.  ref/ fills all of it; x86/ starts from a copy of the next lower table and replaces what it does faster.
// Every function gives the same bits in every table; the comments here are the definition, ref/ is the oracle.
// All run on one thread, touch no state, and expect the environment of FpEnvironment.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.hpp"
#include "kernels/attention_split.hpp"

namespace mixtura {

// y[t][r] for `panel_count` panels of 16 rows and `token_count` tokens, overwritten.
// panels: the first panel, the next ones panel_bytes behind each other · x[t]: ActivationBlock[columns / 32] for
// integer formats, float[columns] for plain ones, any 4-byte alignment · y[t]: float[16 · panel_count].
struct PanelProduct {
    const std::byte* panels;
    std::int64_t panel_bytes;
    std::int64_t panel_count;
    std::int64_t columns;
    const void* const* x;
    float* const* y;
    std::int64_t token_count;
    bool accumulate;  // plain formats only: the chain of each output starts at the y that is there, not at 0
};
using PanelProductFunction = void (*)(const PanelProduct& product) noexcept;

// Which two elements of a head a rotary embedding turns together: i and i + n/2 (NeoX, Llama in Hugging Face's order),
// or 2i and 2i + 1 (GPT-J, Llama in GGUF's order).
enum class RopePairing : std::int32_t { half, interleaved };

// Element-wise functions of the feed-forward; sigmoid: of gates and routers.
enum class Activation : std::int32_t { silu, gelu_erf, gelu_tanh, quick_gelu, relu, sigmoid };

// y = act(gate) · up, or gpt-oss' clamped form where limit > 0; see elementwise.hpp.
struct GatedActivation {
    Activation kind = Activation::silu;
    float limit = 0.0F;    // > 0: gate at most limit, up within ±limit, and (up + 1) for up
    float alpha = 1.702F;  // with a limit: gate · sigmoid(alpha · gate)
};

// The gated delta rule of one head over some tokens, in its recurrent form (Yang et al. 2024, arXiv 2412.06464, (10)):
// the state S [key_width, value_width] forgets, what it recalls for the key is corrected towards the value, and the
// query reads it.  Order of operations: README.md.
inline constexpr std::int64_t kStateLanes = 16;
struct DeltaRule {
    const float* query;  // of the first token, [key_width]; those of the next ones lie input_stride floats further
    const float* key;
    const float* value;   // [value_width]
    const float* decays;  // [token_count]: what is kept of the state, in (0, 1]
    const float* rates;   // [token_count]: how far a value replaces what was recalled
    float* output;        // [value_width] of each token, output_stride floats apart; none of the inputs
    float* state;         // [value_width by 16, rounded up][key_width][16], any alignment: lanes are value elements
    std::int64_t input_stride, output_stride;
    std::int64_t token_count, key_width, value_width;
};

struct KernelTable {
    PanelProductFunction product[22];  // by product_index(dtype)

    // x [columns] f32 · blocks [columns / 32]; columns % 32 == 0
    void (*quantise_row)(const float* x, std::int64_t columns, ActivationBlock* blocks) noexcept;

    // Norms of one row; y may be x.  weight and bias may be nullptr (1 and 0).
    void (*rms_norm_row)(const float* x, const float* weight, float epsilon, std::int64_t columns, float* y) noexcept;
    void (*layer_norm_row)(const float* x, const float* weight, const float* bias, float epsilon, std::int64_t columns,
                           float* y) noexcept;
    void (*softmax_row)(const float* x, std::int64_t columns, float* y) noexcept;

    // y may be one of the inputs.
    void (*activate)(Activation kind, const float* x, std::int64_t count, float* y) noexcept;
    void (*activate_gated)(const GatedActivation& gated, const float* gate, const float* up, std::int64_t count,
                           float* y) noexcept;
    void (*add)(const float* a, const float* b, std::int64_t count, float* y) noexcept;       // y = a + b
    void (*add_scaled)(const float* x, float factor, std::int64_t count, float* y) noexcept;  // y = fma(factor, x, y)
    void (*scale)(const float* x, float factor, std::int64_t count, float* y) noexcept;       // y = factor · x
    void (*divide)(const float* x, float divisor, std::int64_t count, float* y) noexcept;     // y = x / divisor

    // Rotary embedding of one head, in place: pair i turns by the angle whose cosine and sine are cosines[i], sines[i].
    void (*rotate)(RopePairing pairing, const float* cosines, const float* sines, std::int64_t pair_count,
                   float* x) noexcept;

    // One head's row of the KV cache: x rounded to the nearest of what dtype can say, ties to even; cache_row.hpp.
    void (*store_row)(DType dtype, const float* x, std::int64_t count, std::byte* out) noexcept;

    // y[c] = Σ_w x[w][c] · weights[w · stride + c], w = 0 .. taps - 1: one row of a causal convolution a channel, whose
    // taps are rows of inputs, the oldest first.  y is none of them.
    void (*convolve_row)(const float* const* x, const float* weights, std::int64_t stride, std::int64_t taps,
                         std::int64_t count, float* y) noexcept;
    void (*delta_rule)(const DeltaRule& rule) noexcept;

    void (*attend_split)(const AttentionSplit& split) noexcept;
    void (*merge_split)(const AttentionPartial& part, std::int64_t value_width, AttentionState& state,
                        float* output) noexcept;
};

// Index into KernelTable::product; -1 for a dtype whose panels no function reads (PanelKind::file_rows).
int product_index(DType dtype) noexcept;

}  // namespace mixtura
