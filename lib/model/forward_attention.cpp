// The attention half of a layer: queries, keys and values from the hidden state, the cache, the attention itself, and
// the output projection.  Two kinds of inputs (grouped-query, latent) meet in one attend(); recurrent layers have
// forward_recurrent.cpp instead of all three.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/attention.hpp"
#include "kernels/math.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rope.hpp"
#include "kernels/rows.hpp"
#include "model/cache_of_model.hpp"
#include "model/forward.hpp"
#include "model/rope_of_sequence.hpp"

namespace mixtura {
namespace {

// y[t, h] = W[h] · x[t, h] for the small matrices that latent attention has a head.  Strides in floats.
struct HeadRows {
    float* data;
    std::int64_t row_stride, head_stride;
};
void multiply_heads(const KernelTable& kernels, ParallelFor& threads, const std::vector<PackedMatrix>& weights,
                    HeadRows x, std::int64_t rows, HeadRows y) noexcept {
    constexpr std::int64_t kRowsPerTask = 32;
    const std::int64_t chunks = (rows + kRowsPerTask - 1) / kRowsPerTask;
    parallel_for(threads, static_cast<std::int64_t>(weights.size()) * chunks, [&](std::int64_t task, int) noexcept {
        const std::int64_t head = task / chunks, first = task % chunks * kRowsPerTask;
        const std::int64_t count = std::min(kRowsPerTask, rows - first);
        const PackedMatrix& matrix = weights[static_cast<std::size_t>(head)];
        ActivationBlock blocks[kRowsPerTask * kHeadWidthMax / kBlockColumns];  // 64 KiB
        const void* inputs[kRowsPerTask];
        float* outputs[kRowsPerTask];
        for (std::int64_t t = 0; t < count; ++t) {
            const float* from = x.data + (first + t) * x.row_stride + head * x.head_stride;
            inputs[t] = from;
            outputs[t] = y.data + (first + t) * y.row_stride + head * y.head_stride;
            if (!reads_blocks(matrix)) continue;
            ActivationBlock* own = blocks + t * (matrix.columns / kBlockColumns);
            kernels.quantise_row(from, matrix.columns, own);
            inputs[t] = own;
        }
        matmul_panels(kernels, matrix, 0, panel_count(matrix.rows), inputs, outputs, count);
    });
}

void clip_rows(ParallelFor& threads, float* x, std::int64_t rows, std::int64_t width, float limit) noexcept {
    parallel_for(threads, rows, [=](std::int64_t row, int) noexcept {
        for (float* value = x + row * width; value < x + (row + 1) * width; ++value)
            *value = *value > limit ? limit : *value < -limit ? -limit : *value;
    });
}

}  // namespace

void ForwardPass::rotations(const RopeSpec& rope, const Step& step, ParallelFor& threads) noexcept {
    const auto pairs = static_cast<std::int64_t>(rope.inverse_frequencies.size());
    const auto fill = [&](std::int64_t first_row, std::int64_t rows, const SequenceRope& own) noexcept {
        rope_table(threads, positions_.data() + first_row, rows, own.frequencies, pairs, own.magnitude,
                   scratch_.cosines + first_row * pairs, scratch_.sines + first_row * pairs);
    };
    if (rope.original_tokens == 0) {
        fill(0, static_cast<std::int64_t>(step.tokens.size()), {rope.inverse_frequencies.data(), rope.magnitude});
        return;
    }
    for (const StepSequence& part : step.sequences) {
        const std::int64_t limit = part.limit_tokens > 0 ? part.limit_tokens : core_->spec.context_tokens;
        fill(part.first_row, part.row_count, rope_of_sequence(rope, limit, frequencies_));
    }
}

void ForwardPass::rotate(const RopeSpec& rope, float* x, std::int64_t rows, std::int64_t row_stride, std::int64_t heads,
                         std::int64_t head_stride, ParallelFor& threads) noexcept {
    rope_rotate(*kernels_, threads, rope.pairing, scratch_.cosines, scratch_.sines,
                static_cast<std::int64_t>(rope.inverse_frequencies.size()), x, rows, row_stride, heads, head_stride);
}

// Into query [T, heads, key_width], key and value [T, kv_heads, width].
void ForwardPass::grouped_inputs(std::size_t l, const Step& step, ParallelFor& threads) noexcept {
    const ModelSpec& model = core_->spec;
    const AttentionSpec& spec = model.layers[l].attention;
    const LayerWeights& weights = core_->weights.layers[l];
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const std::int64_t query_width = spec.query_heads * spec.key_width, key_width = spec.kv_heads * spec.key_width;
    const std::int64_t value_width = spec.kv_heads * spec.value_width;

    // The three share an input; if it is quantised for one of them, it is for all that need it.
    bool is_quantised = false;
    for (const auto& [linear_weights, out] :
         {std::pair{&weights.query, scratch_.query}, {&weights.key, scratch_.key}, {&weights.value, scratch_.value}}) {
        if (!linear_weights->is_present()) continue;  // routed_queries was there
        linear(*linear_weights, scratch_.normed, rows, out, threads, is_quantised);
        is_quantised = is_quantised || reads_blocks(linear_weights->weight);
    }
    if (spec.has_output_gate)
        linear(weights.output_gate, scratch_.normed, rows, scratch_.latent, threads, is_quantised);
    clock_.lap(Op::projection);
    const auto normalise = [&] {
        const std::int64_t query_parts = spec.norm_spans_heads ? 1 : spec.query_heads,
                           key_parts = spec.norm_spans_heads ? 1 : spec.kv_heads;
        norm(spec.query_norm, weights.query_norm, scratch_.query, rows * query_parts, query_width / query_parts,
             scratch_.query, threads);
        norm(spec.key_norm, weights.key_norm, scratch_.key, rows * key_parts, key_width / key_parts, scratch_.key,
             threads);
    };
    if (!spec.norm_follows_rotation) normalise();
    if (spec.clip > 0) {
        clip_rows(threads, scratch_.query, rows, query_width, spec.clip);
        clip_rows(threads, scratch_.key, rows, key_width, spec.clip);
        clip_rows(threads, scratch_.value, rows, value_width, spec.clip);
    }
    if (spec.position == PositionKind::rope) {
        const RopeSpec& rope = model.ropes[static_cast<std::size_t>(spec.rope)];
        rotate(rope, scratch_.query, rows, query_width, spec.query_heads, spec.key_width, threads);
        rotate(rope, scratch_.key, rows, key_width, spec.kv_heads, spec.key_width, threads);
    }
    if (spec.norm_follows_rotation) normalise();
    if (spec.query_gain != 0.0F) {
        parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
            const auto position = static_cast<float>(positions_[static_cast<std::size_t>(row)]);
            const float factor =
                std::fma(spec.query_gain, log_f32(1.0F + std::floor((position + 1.0F) / spec.query_gain_tokens)), 1.0F);
            float* query = scratch_.query + row * query_width;
            kernels_->scale(query, factor, query_width, query);
        });
    }
    clock_.lap(Op::rotation);
}

// Into latent [T, heads, rank + rope], the queries as the latent rows see them, and key [T, rank + rope], those rows.
void ForwardPass::latent_inputs(std::size_t l, const Step& step, ParallelFor& threads) noexcept {
    const ModelSpec& model = core_->spec;
    const AttentionSpec& spec = model.layers[l].attention;
    const LatentSpec& latent = spec.latent;
    const LatentWeights& weights = core_->weights.layers[l].latent;
    const Linear& query = core_->weights.layers[l].query;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const std::int64_t heads = spec.query_heads, query_width = heads * spec.key_width;
    const std::int64_t row_width = latent.rank + latent.rope_width;

    linear(weights.row_down, scratch_.normed, rows, scratch_.key, threads, false);
    const bool is_quantised = reads_blocks(weights.row_down.weight);
    if (latent.query_rank > 0) {
        linear(weights.query_down, scratch_.normed, rows, scratch_.value, threads, is_quantised);
        norm(latent.query_norm, weights.query_norm, scratch_.value, rows, latent.query_rank, scratch_.value, threads);
        linear(query, scratch_.value, rows, scratch_.query, threads, false);
    } else {
        linear(query, scratch_.normed, rows, scratch_.query, threads, is_quantised);
    }
    norm(latent.row_norm, weights.row_norm, scratch_.key, rows, latent.rank, scratch_.key, threads, row_width);
    if (spec.position == PositionKind::rope) {
        const RopeSpec& rope = model.ropes[static_cast<std::size_t>(spec.rope)];
        rotate(rope, scratch_.query + latent.plain_width, rows, query_width, heads, spec.key_width, threads);
        rotate(rope, scratch_.key + latent.rank, rows, row_width, 1, row_width, threads);
    }
    multiply_heads(*kernels_, threads, weights.key_up, {scratch_.query, query_width, spec.key_width}, rows,
                   {scratch_.latent, heads * row_width, row_width});
    parallel_for(threads, rows, [&](std::int64_t row, int) noexcept {
        for (std::int64_t h = 0; h < heads; ++h) {
            const float* from = scratch_.query + row * query_width + h * spec.key_width + latent.plain_width;
            std::copy(from, from + latent.rope_width, scratch_.latent + (row * heads + h) * row_width + latent.rank);
        }
    });
    clock_.lap(Op::projection);
}

AttentionShape ForwardPass::shape_of(std::size_t l) const noexcept {
    const AttentionSpec& spec = core_->spec.layers[l].attention;
    const LatentSpec& latent = spec.latent;
    const bool is_latent = spec.is_latent();
    AttentionShape shape;
    shape.query_heads = spec.query_heads;
    shape.kv_heads = spec.kv_heads;
    shape.key_width = is_latent ? latent.rank + latent.rope_width : spec.key_width;
    shape.value_width = is_latent ? latent.rank : spec.value_width;
    shape.scale = spec.scale;
    shape.is_causal = !spec.sees_both_ways;
    shape.window_tokens = spec.window_tokens;
    shape.chunk_tokens = spec.chunk_tokens;
    shape.sinks = core_->weights.layers[l].sinks;
    shape.slopes = slopes_[l].empty() ? nullptr : slopes_[l].data();
    shape.bias = biases_[l].empty() ? nullptr : biases_[l].data();
    shape.bias_reach = spec.bias.distance_max;
    return shape;
}

// The cache takes this step's rows, then every query sees what it may; mixed [T, heads, value_width].
Status ForwardPass::attend(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const bool is_latent = core_->spec.layers[l].attention.is_latent();
    const AttentionShape shape = shape_of(l);
    std::vector<AttentionSequence> sequences;
    AttentionCache paged;
    for (const StepSequence& part : step.sequences) {
        const auto write = [&](std::size_t plane, const float* data, std::int64_t width) {
            return cache.write(part.sequence, l, plane, part.first_position,
                               {data + part.first_row * width, static_cast<std::size_t>(part.row_count * width)});
        };
        MIXTURA_RETURN_IF_ERROR(write(0, scratch_.key, shape.kv_heads * shape.key_width));
        if (!is_latent) MIXTURA_RETURN_IF_ERROR(write(1, scratch_.value, shape.kv_heads * shape.value_width));
        MIXTURA_ASSIGN_OR_RETURN(const KVView view, cache.view(part.sequence, l));
        paged = cached_rows(view, is_latent ? 0 : 1);
        sequences.push_back({view.block_table.data(), part.first_row, part.row_count, part.first_position,
                             part.first_position + part.row_count});
    }
    clock_.lap(Op::cache);
    const float* queries = is_latent ? scratch_.latent : scratch_.query;
    attention(*kernels_, threads, shape, paged, sequences, {queries, shape.query_heads * shape.key_width},
              {scratch_.mixed, shape.query_heads * shape.value_width});
    clock_.lap(Op::attention);
    return {};
}

Result<const float*> ForwardPass::see_past(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const ModelSpec& model = core_->spec;
    const AttentionSpec& spec = model.layers[l].attention;
    const LayerWeights& weights = core_->weights.layers[l];
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    const std::int64_t heads = spec.query_heads, width = heads * spec.value_width;
    if (spec.position == PositionKind::rope && ready_rope_ != spec.rope) {
        rotations(model.ropes[static_cast<std::size_t>(spec.rope)], step, threads);
        ready_rope_ = spec.rope;
        clock_.lap(Op::rotation);
    }
    if (spec.is_latent())
        latent_inputs(l, step, threads);
    else if (spec.head_router)
        MIXTURA_RETURN_IF_ERROR(routed_queries(l, rows, threads));
    if (!spec.is_latent()) grouped_inputs(l, step, threads);
    if (spec.sees_both_ways)
        attend_both_ways(l, step, threads);
    else
        MIXTURA_RETURN_IF_ERROR(attend(l, step, cache, threads));
    float* mixed = scratch_.mixed;
    if (spec.is_latent()) {
        const std::int64_t rank = spec.latent.rank;
        multiply_heads(*kernels_, threads, weights.latent.value_up, {scratch_.mixed, heads * rank, rank}, rows,
                       {scratch_.query, width, spec.value_width});
        mixed = scratch_.query;
    }
    if (spec.has_output_gate) {
        activate_gated(*kernels_, threads, {.kind = Activation::sigmoid}, {scratch_.latent, width}, {mixed, width},
                       rows, width, {mixed, width});
    }
    return mixed;
}

Status ForwardPass::attention_part(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const LayerSpec& layer = core_->spec.layers[l];
    const LayerWeights& weights = core_->weights.layers[l];
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    norm(layer.attention_norm, weights.attention_norm, scratch_.hidden, rows, core_->spec.hidden_size, scratch_.normed,
         threads);
    clock_.lap(Op::norm);
    MIXTURA_ASSIGN_OR_RETURN(const float* const mixed,
                             layer.recurrent ? recur(l, step, cache, threads) : see_past(l, step, cache, threads));
    if (layer.attention.head_router && !layer.recurrent)
        routed_output(l, rows, threads);
    else
        linear(weights.output, mixed, rows, scratch_.normed, threads, false);
    norm(layer.attention_output_norm, weights.attention_output_norm, scratch_.normed, rows, core_->spec.hidden_size,
         scratch_.normed, threads);
    clock_.lap(Op::output);
    add_to_hidden(layer, scratch_.normed, rows, threads);
    return {};
}

}  // namespace mixtura
