#include "model/forward.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "kernels/math.hpp"
#include "kernels/matmul.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/rows.hpp"
#include "kernels/unpack.hpp"
#include "model/relative_bias.hpp"
#include "model/sequence_capacity.hpp"

namespace mixtura {
namespace {

// Widths of the scratch rows, each the largest any layer needs.
struct Widths {
    std::int64_t hidden = 0, query = 0, key = 0, value = 0, mixed = 0, latent = 0, ffn = 0, inner = 0, router = 0,
                 pairs = 0, blocks = 0;
};

Widths widths_of(const ModelSpec& spec) {
    Widths widths;
    widths.hidden = spec.hidden_size;
    const auto raise = [](std::int64_t& width, std::int64_t value) { width = std::max(width, value); };
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = layer.attention;
        const std::int64_t heads = attention.query_heads;
        if (!layer.recurrent) {
            raise(widths.query, heads * std::max(attention.key_width, attention.value_width));
            raise(widths.mixed, heads * attention.value_width);
            if (attention.has_output_gate) raise(widths.latent, heads * attention.value_width);
            if (attention.head_router) {
                raise(widths.router, attention.head_router->expert_count);
                raise(widths.latent, attention.head_router->policy.top_k * spec.hidden_size);
            }
        }
        if (layer.recurrent) {  // forward_recurrent.cpp says what for
            raise(widths.query, layer.recurrent->channels());
            raise(widths.latent, layer.recurrent->channels());
            raise(widths.key, 2 * layer.recurrent->value_heads);
            raise(widths.value, layer.recurrent->value_elements());
            raise(widths.mixed, layer.recurrent->value_elements());
        } else if (attention.is_latent()) {
            const std::int64_t row = attention.latent.rank + attention.latent.rope_width;
            raise(widths.key, row);
            raise(widths.value, attention.latent.query_rank);
            raise(widths.latent, heads * row);
            raise(widths.mixed, heads * attention.latent.rank);
        } else {
            raise(widths.key, attention.kv_heads * attention.key_width);
            raise(widths.value, attention.kv_heads * attention.value_width);
        }
        if (layer.cross) {
            raise(widths.query, layer.cross->heads * layer.cross->key_width);
            raise(widths.key, layer.cross->heads * layer.cross->key_width);
            raise(widths.value, layer.cross->heads * layer.cross->value_width);
            raise(widths.mixed, layer.cross->heads * layer.cross->value_width);
        }
        if (!layer.mixture) {
            raise(widths.ffn, layer.ffn.width);
            continue;
        }
        raise(widths.mixed, spec.hidden_size);
        raise(widths.inner, layer.mixture->router.gate_width);
        raise(widths.router, layer.mixture->router.expert_count);
    }
    for (const RopeSpec& rope : spec.ropes)
        raise(widths.pairs, static_cast<std::int64_t>(rope.inverse_frequencies.size()));
    widths.blocks = std::max({widths.hidden, widths.query, widths.value, widths.mixed, widths.ffn}) / kBlockColumns + 1;
    return widths;
}

// The floats of one row of scratch, in the order of Scratch's pointers.
std::array<std::int64_t, 13> float_widths(const Widths& w) {
    return {w.hidden, w.hidden, w.query, w.key,    w.value, w.mixed, w.latent,
            w.ffn,    w.ffn,    w.inner, w.router, w.pairs, w.pairs};
}

// What the mixture layers need: they take turns, so the largest counts.
std::uint64_t mixture_bytes(const ModelSpec& spec, std::int64_t rows) noexcept {
    std::uint64_t bytes = 0;
    for (const LayerSpec& layer : spec.layers) {
        if (layer.mixture)
            bytes = std::max(bytes,
                             MixtureScratch::bytes(layer.mixture->experts, rows, layer.mixture->router.policy.top_k));
    }
    return bytes;
}

// Rounded up to whole cache lines, so that each part of the scratch starts on one.
std::uint64_t line_bytes(std::int64_t rows, std::int64_t width, std::size_t element_bytes) {
    constexpr std::uint64_t kLine = AlignedBuffer::kAlignmentBytes;
    return (static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(width) * element_bytes + kLine - 1) / kLine *
           kLine;
}

// Slopes of n heads: for a power of two 2^(-8 (h + 1) / n); otherwise those of the next lower power of two, then every
// second one of the next higher.  Source: Press et al. 2021 (arXiv 2108.12409), and the authors' code for other n.
std::vector<float> alibi_slopes(std::int64_t heads) {
    std::int64_t power = 1;
    while (power * 2 <= heads) power *= 2;
    std::vector<float> slopes;
    for (std::int64_t h = 0; h < heads; ++h) {
        const bool is_regular = h < power;
        const auto numerator = static_cast<float>(is_regular ? h + 1 : 2 * (h - power) + 1);
        const auto denominator = static_cast<float>(is_regular ? power : 2 * power);
        slopes.push_back(pow_f32(2.0F, -8.0F * numerator / denominator));
    }
    return slopes;
}

// One row of an embedding table in the file's own format.
void decode_row(const PackedMatrix& table, std::int64_t row, float* out) noexcept {
    const DTypeInfo& dtype = dtype_info(table.dtype);
    const std::int64_t blocks = table.columns / dtype.block_elements;
    decoder(table.dtype)(table.data + row * blocks * dtype.block_bytes, out, static_cast<std::size_t>(blocks));
}

bool is_finite_row(const float* x, std::int64_t count) noexcept {
    // x - x is 0 for finite x and NaN otherwise; a sum of zeros stays 0.  Eight chains keep the adder busy.
    float sums[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] - x[i + lane];
    }
    for (; i < count; ++i) sums[0] += x[i] - x[i];
    float sum = 0.0F;
    for (const float lane : sums) sum += lane;
    return sum == 0.0F;
}

void report_hidden(const Step& step, std::size_t layer, const float* hidden, std::int64_t count) {
    if (step.on_hidden) step.on_hidden(static_cast<std::int64_t>(layer), {hidden, static_cast<std::size_t>(count)});
}

// Notes that the sequence of `row` went non-finite, unless it is known to have.
void add_failure(const Step& step, std::int64_t row, std::int64_t layer, std::vector<NonFinite>& failed) {
    for (std::size_t s = 0; s < step.sequences.size(); ++s) {
        const StepSequence& part = step.sequences[s];
        if (row < part.first_row || row >= part.first_row + part.row_count) continue;
        const bool is_known =
            std::any_of(failed.begin(), failed.end(), [s](const NonFinite& f) { return f.sequence == s; });
        if (!is_known) failed.push_back({s, layer, part.first_position + row - part.first_row});
    }
}

}  // namespace

std::uint64_t ForwardPass::scratch_bytes(const ModelSpec& spec, std::int64_t rows) noexcept {
    const Widths w = widths_of(spec);
    std::uint64_t bytes = 0;
    for (const std::int64_t width : float_widths(w)) bytes += line_bytes(rows, width, sizeof(float));
    return bytes + line_bytes(rows, w.blocks, sizeof(ActivationBlock)) + mixture_bytes(spec, rows);
}

Result<ForwardPass> ForwardPass::create(std::shared_ptr<const ModelCore> core, std::int64_t rows_max,
                                        const Backend* backend, OpTimes* op_times,
                                        std::vector<RouterPolicy> policies) noexcept {
    return without_exceptions([&]() -> Result<ForwardPass> {
        const FpEnvironment guard;  // slopes
        ForwardPass pass;
        pass.core_ = std::move(core);
        pass.kernels_ = (backend != nullptr ? backend : pass.core_->backend)->table;
        pass.rows_max_ = rows_max;
        pass.clock_ = OpClock(op_times);
        pass.policies_ = std::move(policies);
        const ModelSpec& spec = pass.core_->spec;
        MIXTURA_ASSIGN_OR_RETURN(
            pass.buffer_, AlignedBuffer::allocate(scratch_bytes(spec, rows_max) - mixture_bytes(spec, rows_max)));
        const Widths w = widths_of(spec);
        std::byte* next = pass.buffer_.data();
        Scratch& s = pass.scratch_;
        float** const slices[] = {&s.hidden, &s.normed, &s.query, &s.key,    &s.value,   &s.mixed, &s.latent,
                                  &s.gate,   &s.up,     &s.inner, &s.router, &s.cosines, &s.sines};
        const auto widths = float_widths(w);
        for (std::size_t i = 0; i < widths.size(); ++i) {
            *slices[i] = reinterpret_cast<float*>(next);
            next += line_bytes(rows_max, widths[i], sizeof(float));
        }
        s.blocks = reinterpret_cast<ActivationBlock*>(next);
        pass.positions_.resize(static_cast<std::size_t>(rows_max));
        pass.frequencies_.resize(static_cast<std::size_t>(w.pairs));
        pass.bad_rows_.resize(static_cast<std::size_t>(rows_max));
        for (std::size_t l = 0; l < spec.layers.size(); ++l) {
            const LayerSpec& layer = spec.layers[l];
            if (layer.mixture) {
                MIXTURA_RETURN_IF_ERROR(
                    pass.mixture_scratch_.reserve(layer.mixture->experts, rows_max, pass.policy(l).top_k));
            }
            const bool has_slopes = !layer.recurrent && layer.attention.position == PositionKind::alibi;
            pass.slopes_.push_back(has_slopes ? alibi_slopes(layer.attention.query_heads) : std::vector<float>());
            const bool has_bias = !layer.recurrent && layer.attention.position == PositionKind::relative_bias;
            pass.biases_.push_back(has_bias
                                       ? bias_by_distance(layer.attention, pass.core_->weights.layers[l].position_bias)
                                       : std::vector<float>());
        }
        return pass;
    });
}

const RouterPolicy& ForwardPass::policy(std::size_t layer) const noexcept {
    return policies_.empty() ? core_->spec.layers[layer].mixture->router.policy : policies_[layer];
}

void ForwardPass::norm(const NormSpec& spec, const Norm& weights, const float* x, std::int64_t rows, std::int64_t width,
                       float* y, ParallelFor& threads, std::int64_t stride) noexcept {
    const KernelTable& kernels = *kernels_;
    if (stride == 0) stride = width;
    if (spec.kind == NormKind::rms)
        rms_norm(kernels, threads, {x, stride}, weights.weight, spec.epsilon, rows, width, {y, stride});
    if (spec.kind == NormKind::layer) {
        layer_norm(kernels, threads, {x, stride}, weights.weight, weights.bias, spec.epsilon, rows, width, {y, stride});
    }
}

void ForwardPass::linear(const Linear& weights, const float* x, std::int64_t rows, float* y, ParallelFor& threads,
                         bool blocks_are_ready, std::int64_t y_stride) noexcept {
    const KernelTable& kernels = *kernels_;
    const std::int64_t columns = weights.weight.columns, outputs = weights.weight.rows;
    if (y_stride == 0) y_stride = outputs;
    MatmulInput input;
    input.token_count = rows;
    input.values = x;
    input.values_stride = columns;
    if (reads_blocks(weights.weight)) {
        input.blocks = scratch_.blocks;
        input.blocks_stride = columns / kBlockColumns;
        if (!blocks_are_ready)
            quantise_activations(kernels, threads, x, columns, rows, columns, scratch_.blocks, input.blocks_stride);
    }
    matmul(kernels, threads, weights.weight, input, y, y_stride);
    if (weights.bias != nullptr) add(kernels, threads, {y, y_stride}, {weights.bias, 0}, rows, outputs, {y, y_stride});
}

void ForwardPass::embed(const Step& step, ParallelFor& threads) noexcept {
    const ModelSpec& spec = core_->spec;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const std::int64_t width = spec.hidden_size;
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        float* hidden = scratch_.hidden + row * width;
        const TokenId token = step.tokens[static_cast<std::size_t>(row)];
        if (core_->weights.is_tied)
            unpack_row(core_->weights.token_embedding, token, hidden);
        else
            decode_row(core_->weights.token_embedding, token, hidden);
        if (spec.embedding_scale != 1.0F) kernels_->scale(hidden, spec.embedding_scale, width, hidden);
        if (spec.learned_positions > 0) {
            float* position = scratch_.normed + row * width;
            decode_row(core_->weights.position_embedding, positions_[static_cast<std::size_t>(row)], position);
            kernels_->add(hidden, position, width, hidden);
        }
    });
    norm(spec.embedding_norm, core_->weights.embedding_norm, scratch_.hidden, rows, width, scratch_.hidden, threads);
}

void ForwardPass::add_to_hidden(const LayerSpec& layer, const float* x, std::int64_t rows,
                                ParallelFor& threads) noexcept {
    const std::int64_t width = core_->spec.hidden_size;
    if (layer.residual_scale == 1.0F) {
        add(*kernels_, threads, {scratch_.hidden, width}, {x, width}, rows, width, {scratch_.hidden, width});
        clock_.lap(Op::residual);
        return;
    }
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        kernels_->add_scaled(x + row * width, layer.residual_scale, width, scratch_.hidden + row * width);
    });
    clock_.lap(Op::residual);
}

void ForwardPass::dense_part(std::size_t l, std::int64_t rows, ParallelFor& threads) noexcept {
    const KernelTable& kernels = *kernels_;
    const LayerSpec& layer = core_->spec.layers[l];
    const LayerWeights& weights = core_->weights.layers[l];
    const std::int64_t width = layer.ffn.width;
    norm(layer.ffn_norm, weights.ffn_norm, scratch_.hidden, rows, core_->spec.hidden_size, scratch_.normed, threads);
    clock_.lap(Op::norm);
    linear(weights.up, scratch_.normed, rows, scratch_.up, threads, false);
    if (layer.ffn.is_gated) {
        linear(weights.gate, scratch_.normed, rows, scratch_.gate, threads, reads_blocks(weights.up.weight));
        activate_gated(kernels, threads, layer.ffn.activation, {scratch_.gate, width}, {scratch_.up, width}, rows,
                       width, {scratch_.up, width});
    } else {
        activate(kernels, threads, layer.ffn.activation.kind, {scratch_.up, width}, rows, width, {scratch_.up, width});
    }
    linear(weights.down, scratch_.up, rows, scratch_.normed, threads, false);
    clock_.lap(Op::dense);
    norm(layer.ffn_output_norm, weights.ffn_output_norm, scratch_.normed, rows, core_->spec.hidden_size,
         scratch_.normed, threads);
    add_to_hidden(layer, scratch_.normed, rows, threads);
}

Status ForwardPass::mixture_part(std::size_t l, const Step& step, ParallelFor& threads,
                                 std::vector<NonFinite>& failed) {
    const KernelTable& kernels = *kernels_;
    const LayerSpec& layer = core_->spec.layers[l];
    const LayerWeights& weights = core_->weights.layers[l];
    const MixtureSpec& mixture = *layer.mixture;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    norm(layer.ffn_norm, weights.ffn_norm, scratch_.hidden, rows, core_->spec.hidden_size, scratch_.normed, threads);
    clock_.lap(Op::norm);
    gate_logits(kernels, threads, mixture.router, weights.router, scratch_.normed, rows, scratch_.inner,
                scratch_.router);
    MIXTURA_RETURN_IF_ERROR(choose_experts(kernels, threads, policy(l), mixture.router.expert_count,
                                           weights.router.selection_bias, scratch_.router, rows, {}, plan_));
    for (const std::int64_t row : plan_.non_finite_tokens) add_failure(step, row, static_cast<std::int64_t>(l), failed);
    if (mixture.sequence_capacity > 0)
        MIXTURA_RETURN_IF_ERROR(drop_beyond(mixture.sequence_capacity, step.sequences, plan_));
    if (step.on_route) step.on_route(static_cast<std::int64_t>(l), plan_);
    clock_.lap(Op::router);
    run_mixture(kernels, threads, mixture.experts, weights.mixture(), scratch_.normed, plan_, mixture_scratch_,
                scratch_.mixed);
    clock_.lap(Op::experts);
    norm(layer.ffn_output_norm, weights.ffn_output_norm, scratch_.mixed, rows, core_->spec.hidden_size, scratch_.mixed,
         threads);
    add_to_hidden(layer, scratch_.mixed, rows, threads);
    return {};
}

// Looks at the residual stream once a layer: H numbers beside the 12 H^2 that the layer multiplied.
void ForwardPass::find_non_finite(std::int64_t layer, const Step& step, ParallelFor& threads,
                                  std::vector<NonFinite>& failed) {
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const std::int64_t width = core_->spec.hidden_size;
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        bad_rows_[static_cast<std::size_t>(row)] = is_finite_row(scratch_.hidden + row * width, width) ? 0 : 1;
    });
    for (std::int64_t row = 0; row < rows; ++row) {
        if (bad_rows_[static_cast<std::size_t>(row)] != 0) add_failure(step, row, layer, failed);
    }
    clock_.lap(Op::check);
}

Status ForwardPass::check_step(const Step& step) const {
    const ModelSpec& spec = core_->spec;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    if (rows < 1 || rows > rows_max_)
        return error(StatusCode::invalid_argument, "a step of ", rows, " rows, expected 1 to ", rows_max_);
    for (const TokenId token : step.tokens) {
        if (token < 0 || token >= spec.vocabulary_size) {
            return error(StatusCode::invalid_argument, "token ", token, " is not in the vocabulary, expected 0 to ",
                         spec.vocabulary_size - 1);
        }
    }
    for (const StepSequence& part : step.sequences) {
        if (spec.learned_positions > 0 && part.first_position + part.row_count > spec.learned_positions) {
            return error(StatusCode::out_of_range, "position ", part.first_position + part.row_count - 1,
                         " is beyond the ", spec.learned_positions, " positions that ", spec.architecture,
                         " has learned");
        }
    }
    return {};
}

void ForwardPass::begin_step(const Step& step, ParallelFor& threads, std::vector<NonFinite>& failed) {
    for (const StepSequence& part : step.sequences) {
        for (std::int64_t i = 0; i < part.row_count; ++i) {
            positions_[static_cast<std::size_t>(part.first_row + i)] =
                static_cast<std::int32_t>(part.first_position + i);
        }
    }
    ready_rope_ = -1;
    clock_.begin();
    embed(step, threads);
    clock_.lap(Op::embedding);
    find_non_finite(-1, step, threads, failed);
}

Status ForwardPass::run_layers(std::size_t first, std::size_t last, const Step& step, KVCache& cache,
                               ParallelFor& threads, std::vector<NonFinite>& failed) {
    const ModelSpec& spec = core_->spec;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    for (std::size_t l = first; l < last; ++l) {
        report_hidden(step, l, scratch_.hidden, rows * spec.hidden_size);
        MIXTURA_RETURN_IF_ERROR(attention_part(l, step, cache, threads));
        if (spec.layers[l].attention.head_router) {
            for (const std::int64_t row : head_plan_.non_finite_tokens)
                add_failure(step, row, static_cast<std::int64_t>(l), failed);
        }
        if (spec.layers[l].cross) MIXTURA_RETURN_IF_ERROR(cross_part(l, step, cache, threads));
        if (spec.layers[l].mixture)
            MIXTURA_RETURN_IF_ERROR(mixture_part(l, step, threads, failed));
        else
            dense_part(l, rows, threads);
        find_non_finite(static_cast<std::int64_t>(l), step, threads, failed);
    }
    return {};
}

Status ForwardPass::run(const Step& step, KVCache& cache, ParallelFor& threads, std::span<float> logits,
                        std::vector<NonFinite>& failed) {
    const FpEnvironment guard;  // the cache rounds on this thread
    const ModelSpec& spec = core_->spec;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const auto logit_count = static_cast<std::int64_t>(step.logit_rows.size());
    MIXTURA_RETURN_IF_ERROR(check_step(step));
    if (logits.size() != static_cast<std::size_t>(logit_count * spec.vocabulary_size)) {
        return error(StatusCode::invalid_argument, "a step has room for ", logits.size(), " logits, expected ",
                     logit_count * spec.vocabulary_size);
    }
    begin_step(step, threads, failed);
    MIXTURA_RETURN_IF_ERROR(
        run_layers(static_cast<std::size_t>(spec.encoder_layers), spec.layers.size(), step, cache, threads, failed));
    // Only the rows whose logits are wanted go on, unless somebody watches.
    const auto count = static_cast<std::int64_t>(spec.layers.size());
    if (step.on_hidden) {
        norm(spec.final_norm, core_->weights.final_norm, scratch_.hidden, rows, spec.hidden_size, scratch_.normed,
             threads);
        report_hidden(step, spec.layers.size(), scratch_.normed, rows * spec.hidden_size);
    }
    if (logit_count == 0) return {};
    for (std::int64_t i = 0; i < logit_count; ++i) {
        const float* from = scratch_.hidden + step.logit_rows[static_cast<std::size_t>(i)] * spec.hidden_size;
        std::copy(from, from + spec.hidden_size, scratch_.normed + i * spec.hidden_size);
    }
    norm(spec.final_norm, core_->weights.final_norm, scratch_.normed, logit_count, spec.hidden_size, scratch_.normed,
         threads);
    linear(core_->weights.head, scratch_.normed, logit_count, logits.data(), threads, false);
    for (std::int64_t i = 0; i < logit_count; ++i) {
        float* row = logits.data() + i * spec.vocabulary_size;
        if (spec.logit_divisor != 1.0F) kernels_->divide(row, spec.logit_divisor, spec.vocabulary_size, row);
        if (!is_finite_row(row, spec.vocabulary_size))
            add_failure(step, step.logit_rows[static_cast<std::size_t>(i)], count, failed);
    }
    clock_.lap(Op::head);
    return {};
}

}  // namespace mixtura
