// The attention half of a layer that has a state instead of attention: projections, a causal convolution of queries,
// keys and values with its SiLU, the gated delta rule over each head, and a gated norm.  Source: Yang et al. 2024
// (arXiv 2412.06464), 3.4, with the gates of Qwen3-Next (transformers, modeling_qwen3_next).
//
// Scratch: query holds the convolution's inputs [T, channels], latent its outputs, key the rates and decays before
// their functions [T, 2 · value heads], value the gates of the outputs, mixed the outputs.
//
// The state is read where the last append left it and written where this one puts it, which are two places: a task
// copies what it needs, and no copy of a whole state is ever made on one thread.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/math.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "model/forward.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kChannelsAtOnce = 1024, kTokensAtOnce = 64;
constexpr float kZeros[kChannelsAtOnce] = {};
constexpr float kLengthEpsilon = 1e-6F;  // under the root of a query's and a key's length, in the owners' code

// ln(1 + e^x), in f64 so that small ones, which mean a long memory, keep their digits; x where the 1 is lost.
float softplus(float x) noexcept {
    constexpr float kLinearFrom = 20.0F;
    if (!(x <= kLinearFrom)) return x;  // NaN too
    return static_cast<float>(log_f64(1.0 + exp_f64(static_cast<double>(x))));
}

// Some channels of one sequence's convolution, and what the next step needs of their inputs.
struct Convolution {
    const KernelTable& kernels;
    const RecurrentSpec& spec;
    const float* weights;  // [taps, channels]
    const float* inputs;   // of the sequence's first row
    float* outputs;
    std::int64_t rows;

    void run(std::int64_t first, std::int64_t count, const KVStateStep& state) const noexcept {
        const std::int64_t channels = spec.channels(), old = spec.taps - 1;
        // Inputs of the row `row`, which is below 0 for those of earlier steps.
        const auto input = [&](std::int64_t row) {
            if (row >= 0) return inputs + row * channels + first;
            return state.before == nullptr ? kZeros : state.before + (row + old) * channels + first;
        };
        for (std::int64_t row = 0; row < rows; ++row) {
            const float* taps[kTapsMax];
            for (std::int64_t w = 0; w < spec.taps; ++w) taps[w] = input(row - old + w);
            float* const out = outputs + row * channels + first;
            kernels.convolve_row(taps, weights + first, channels, spec.taps, count, out);
            kernels.activate(Activation::silu, out, count, out);
        }
        for (std::int64_t w = 0; w < old; ++w) {
            const float* from = input(rows - old + w);
            std::copy(from, from + count, state.after + w * channels + first);
        }
    }
};

}  // namespace

// Everything that is linear in the normed hidden state.
void ForwardPass::recurrent_inputs(std::size_t l, std::int64_t rows, ParallelFor& threads) noexcept {
    const RecurrentSpec& spec = *core_->spec.layers[l].recurrent;
    const LayerWeights& weights = core_->weights.layers[l];
    const std::int64_t channels = spec.channels(), keys = spec.key_elements(), heads = spec.value_heads;
    struct Projection {
        const Linear& weights;
        float* to;
        std::int64_t stride;
    };
    bool is_quantised = false;
    for (const Projection& projection : {Projection{weights.query, scratch_.query, channels},
                                         {weights.key, scratch_.query + keys, channels},
                                         {weights.value, scratch_.query + 2 * keys, channels},
                                         {weights.recurrent.gate, scratch_.value, spec.value_elements()},
                                         {weights.recurrent.rate, scratch_.key, 2 * heads},
                                         {weights.recurrent.decay, scratch_.key + heads, 2 * heads}}) {
        linear(projection.weights, scratch_.normed, rows, projection.to, threads, is_quantised, projection.stride);
        is_quantised = is_quantised || reads_blocks(projection.weights.weight);
    }
    clock_.lap(Op::projection);
}

Result<const float*> ForwardPass::recur(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const RecurrentSpec& spec = *core_->spec.layers[l].recurrent;
    const RecurrentWeights& weights = core_->weights.layers[l].recurrent;
    const KernelTable& kernels = *kernels_;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const auto sequences = static_cast<std::int64_t>(step.sequences.size());
    const std::int64_t channels = spec.channels(), heads = spec.value_heads, width = spec.value_elements();
    state_steps_.clear();
    for (const StepSequence& part : step.sequences) {
        MIXTURA_ASSIGN_OR_RETURN(const KVStateStep state, cache.state_step(part.sequence, l));
        state_steps_.push_back(state);
    }
    recurrent_inputs(l, rows, threads);

    const std::int64_t chunks = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
    parallel_for(threads, sequences * chunks, [&](std::int64_t task, int) noexcept {
        const auto s = static_cast<std::size_t>(task / chunks);
        const StepSequence& part = step.sequences[s];
        const std::int64_t first = task % chunks * kChannelsAtOnce, begin = part.first_row * channels;
        const Convolution convolution{
            kernels, spec, weights.convolution, scratch_.query + begin, scratch_.latent + begin, part.row_count};
        convolution.run(first, std::min(kChannelsAtOnce, channels - first), state_steps_[s]);
    });
    // Queries and keys to length 1, as x / √(Σx² + ε); queries divided by √width too, the scale of their products.
    const std::int64_t key_width = spec.key_width;
    const auto elements = static_cast<float>(key_width);
    const float root = std::sqrt(elements), epsilon = kLengthEpsilon / elements;
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        for (std::int64_t h = 0; h < 2 * spec.key_heads; ++h) {
            float* const x = scratch_.latent + row * channels + h * key_width;
            kernels.rms_norm_row(x, nullptr, epsilon, key_width, x);
            kernels.scale(x, 1.0F / (h < spec.key_heads ? elements : root), key_width, x);
        }
    });
    clock_.lap(Op::rotation);

    parallel_for(threads, sequences * heads, [&](std::int64_t task, int) noexcept {
        const auto s = static_cast<std::size_t>(task / heads);
        const StepSequence& part = step.sequences[s];
        const std::int64_t head = task % heads, key_head = head / (heads / spec.key_heads);
        const std::int64_t place = spec.history_size() + head * spec.head_size();
        float* const state = state_steps_[s].after + place;
        if (const float* const before = state_steps_[s].before; before != nullptr)
            std::copy(before + place, before + place + spec.head_size(), state);
        else
            std::fill(state, state + spec.head_size(), 0.0F);
        const float stated = weights.decay_factor[head], factor = spec.is_decay_logarithmic ? -exp_f32(stated) : stated;
        for (std::int64_t done = 0; done < part.row_count; done += kTokensAtOnce) {
            const std::int64_t count = std::min(kTokensAtOnce, part.row_count - done), row = part.first_row + done;
            float decays[kTokensAtOnce], rates[kTokensAtOnce];
            for (std::int64_t t = 0; t < count; ++t) {
                const float* gates = scratch_.key + (row + t) * 2 * heads + head;
                rates[t] = sigmoid_f32(gates[0]);
                decays[t] = exp_f32(factor * softplus(gates[heads] + weights.decay_bias[head]));
            }
            const float* const inputs = scratch_.latent + row * channels;
            kernels.delta_rule({inputs + key_head * key_width, inputs + spec.key_elements() + key_head * key_width,
                                inputs + 2 * spec.key_elements() + head * spec.value_width, decays, rates,
                                scratch_.mixed + row * width + head * spec.value_width, state, channels, width, count,
                                key_width, spec.value_width});
        }
    });
    clock_.lap(Op::attention);

    norm(spec.output_norm, weights.output_norm, scratch_.mixed, rows * heads, spec.value_width, scratch_.mixed,
         threads);
    activate_gated(kernels, threads, {.kind = Activation::silu}, {scratch_.value, width}, {scratch_.mixed, width}, rows,
                   width, {scratch_.mixed, width});
    clock_.lap(Op::rotation);
    return scratch_.mixed;
}

}  // namespace mixtura
