// What a model with an encoder has besides its decoder's layers: the encoder's pass over a source, and the decoder's
// attention to what came of it.  A source is one step from end to end, for each of its tokens sees the others.
#include "base/error.hpp"
#include "kernels/matmul.hpp"
#include "model/cache_of_model.hpp"
#include "model/forward.hpp"

namespace mixtura {
namespace {

// Rows of a step as pages: a row is as far from the next as one page from the next, and a sequence's table counts them.
struct StepPages {
    std::vector<std::vector<std::int32_t>> tables;
    std::vector<AttentionSequence> sequences;

    explicit StepPages(const Step& step) {
        for (const StepSequence& part : step.sequences) {
            std::vector<std::int32_t>& table = tables.emplace_back();
            for (std::int64_t row = 0; row < part.row_count; row += kCacheBlockTokens)
                table.push_back(static_cast<std::int32_t>(part.first_row + row));
        }
        for (std::size_t s = 0; s < tables.size(); ++s) {
            const StepSequence& part = step.sequences[s];
            sequences.push_back({tables[s].data(), part.first_row, part.row_count, 0, part.row_count});
        }
    }
    static PagedRows rows(const float* data, std::int64_t width) noexcept {
        const auto bytes = width * static_cast<std::int64_t>(sizeof(float));
        return {reinterpret_cast<const std::byte*>(data), bytes, bytes};
    }
};

}  // namespace

// From query, key and value [T, heads, width] into mixed [T, heads, value_width].
void ForwardPass::attend_both_ways(std::size_t l, const Step& step, ParallelFor& threads) {
    const AttentionShape shape = shape_of(l);
    const StepPages pages(step);
    constexpr std::int64_t kFloat = sizeof(float);
    const AttentionCache rows{.keys = StepPages::rows(scratch_.key, shape.kv_heads * shape.key_width),
                              .values = StepPages::rows(scratch_.value, shape.kv_heads * shape.value_width),
                              .key_head_stride_bytes = shape.key_width * kFloat,
                              .value_head_stride_bytes = shape.value_width * kFloat};
    attention(*kernels_, threads, shape, rows, pages.sequences, {scratch_.query, shape.query_heads * shape.key_width},
              {scratch_.mixed, shape.query_heads * shape.value_width});
    clock_.lap(Op::attention);
}

// The encoder's output, in normed, as keys and values of decoder layer `l`.
Status ForwardPass::write_source(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const CrossSpec& spec = *core_->spec.layers[l].cross;
    const CrossWeights& weights = core_->weights.layers[l].cross;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    linear(weights.key, scratch_.normed, rows, scratch_.key, threads, false);
    linear(weights.value, scratch_.normed, rows, scratch_.value, threads, reads_blocks(weights.key.weight));
    clock_.lap(Op::projection);
    const std::size_t place = cross_place(core_->spec, l);
    for (const StepSequence& part : step.sequences) {
        const auto write = [&](std::size_t plane, const float* data, std::int64_t width) {
            return cache.write(part.sequence, place, plane, 0,
                               {data + part.first_row * width, static_cast<std::size_t>(part.row_count * width)});
        };
        MIXTURA_RETURN_IF_ERROR(write(0, scratch_.key, spec.heads * spec.key_width));
        MIXTURA_RETURN_IF_ERROR(write(1, scratch_.value, spec.heads * spec.value_width));
    }
    clock_.lap(Op::cache);
    return {};
}

Status ForwardPass::encode(const Step& step, KVCache& cache, ParallelFor& threads, std::vector<NonFinite>& failed) {
    const FpEnvironment guard;  // the cache rounds on this thread
    const ModelSpec& spec = core_->spec;
    MIXTURA_RETURN_IF_ERROR(check_step(step));
    begin_step(step, threads, failed);
    const auto encoder_layers = static_cast<std::size_t>(spec.encoder_layers);
    MIXTURA_RETURN_IF_ERROR(run_layers(0, encoder_layers, step, cache, threads, failed));
    norm(spec.encoder_norm, core_->weights.encoder_norm, scratch_.hidden, static_cast<std::int64_t>(step.tokens.size()),
         spec.hidden_size, scratch_.normed, threads);
    clock_.lap(Op::norm);
    for (std::size_t l = encoder_layers; l < spec.layers.size(); ++l) {
        if (spec.layers[l].cross) MIXTURA_RETURN_IF_ERROR(write_source(l, step, cache, threads));
    }
    return {};
}

Status ForwardPass::cross_part(std::size_t l, const Step& step, KVCache& cache, ParallelFor& threads) {
    const LayerSpec& layer = core_->spec.layers[l];
    const CrossSpec& spec = *layer.cross;
    const CrossWeights& weights = core_->weights.layers[l].cross;
    const auto rows = static_cast<std::int64_t>(step.tokens.size());
    norm(spec.norm, weights.norm, scratch_.hidden, rows, core_->spec.hidden_size, scratch_.normed, threads);
    clock_.lap(Op::norm);
    linear(weights.query, scratch_.normed, rows, scratch_.query, threads, false);
    clock_.lap(Op::projection);
    const AttentionShape shape{.query_heads = spec.heads,
                               .kv_heads = spec.heads,
                               .key_width = spec.key_width,
                               .value_width = spec.value_width,
                               .scale = spec.scale,
                               .is_causal = false};
    std::vector<AttentionSequence> sequences;
    AttentionCache source;
    for (const StepSequence& part : step.sequences) {
        MIXTURA_ASSIGN_OR_RETURN(const KVView view, cache.view(part.sequence, cross_place(core_->spec, l)));
        source = cached_rows(view, 1);
        sequences.push_back(
            {view.block_table.data(), part.first_row, part.row_count, part.first_position, view.length_tokens});
    }
    attention(*kernels_, threads, shape, source, sequences, {scratch_.query, spec.heads * spec.key_width},
              {scratch_.mixed, spec.heads * spec.value_width});
    clock_.lap(Op::attention);
    linear(weights.output, scratch_.mixed, rows, scratch_.normed, threads, false);
    clock_.lap(Op::output);
    add_to_hidden(layer, scratch_.normed, rows, threads);
    return {};
}

}  // namespace mixtura
