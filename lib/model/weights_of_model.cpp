#include "model/weights_of_model.hpp"

#include <tuple>

#include "base/text.hpp"

namespace mixtura {
namespace {

class Binder {
  public:
    void matrix(std::string role, const WeightSource& source, std::int64_t rows, std::int64_t columns,
                PackedMatrix& view, WeightForm form = WeightForm::packed) {
        if (source.is_present()) bindings_.push_back({std::move(role), source, rows, columns, form, &view, nullptr});
    }
    // Looked up a row at a time: as the file has it, or in panels where those serve a product as well.
    void table(std::string role, const WeightSource& source, std::int64_t rows, std::int64_t columns,
               PackedMatrix& view, WeightForm form) {
        bindings_.push_back({std::move(role), source, rows, columns, form, &view, nullptr, true});
    }
    void vector(std::string role, const WeightSource& source, std::int64_t count, const float*& view) {
        if (source.is_present())
            bindings_.push_back({std::move(role), source, count, 1, WeightForm::floats, nullptr, &view});
    }
    // f32 as the file has them, [rows, columns].
    void floats(std::string role, const WeightSource& source, std::int64_t rows, std::int64_t columns,
                const float*& view) {
        bindings_.push_back({std::move(role), source, rows, columns, WeightForm::floats, nullptr, &view});
    }
    void linear(const std::string& role, const LinearSource& source, std::int64_t rows, std::int64_t columns,
                Linear& view) {
        matrix(role + ".weight", source.weight, rows, columns, view.weight);
        vector(role + ".bias", source.bias, rows, view.bias);
    }
    void norm(const std::string& role, const NormSpec& spec, const NormSource& source, std::int64_t width, Norm& view) {
        if (spec.kind == NormKind::none) return;
        vector(role + ".weight", source.weight, width, view.weight);
        if (spec.is_zero_centred && source.weight.is_present()) bindings_.back().added = 1.0F;
        if (spec.kind == NormKind::layer) vector(role + ".bias", source.bias, width, view.bias);
    }
    void expert(const std::string& role, const ExpertMap& map, bool is_gated, std::int64_t width, std::int64_t hidden,
                ExpertView& view) {
        if (is_gated) {
            matrix(role + ".gate.weight", map.gate.weight, width, hidden, view.gate);
            vector(role + ".gate.bias", map.gate.bias, width, view.gate_bias);
        }
        matrix(role + ".up.weight", map.up.weight, width, hidden, view.up);
        vector(role + ".up.bias", map.up.bias, width, view.up_bias);
        matrix(role + ".down.weight", map.down.weight, hidden, width, view.down);
        vector(role + ".down.bias", map.down.bias, hidden, view.down_bias);
    }
    std::vector<WeightBinding> take() { return std::move(bindings_); }

  private:
    std::vector<WeightBinding> bindings_;
};

void bind_latent(Binder& binder, const std::string& prefix, std::int64_t hidden, const AttentionSpec& spec,
                 const LayerMap& map, LayerWeights& weights) {
    const LatentSpec& latent = spec.latent;
    const std::int64_t heads = spec.query_heads, queries = heads * (latent.plain_width + latent.rope_width);
    if (latent.query_rank > 0) {
        binder.linear(prefix + "query_down", map.latent.query_down, latent.query_rank, hidden,
                      weights.latent.query_down);
        binder.norm(prefix + "query_down_norm", latent.query_norm, map.latent.query_norm, latent.query_rank,
                    weights.latent.query_norm);
    }
    binder.linear(prefix + "query", map.query, queries, latent.query_rank > 0 ? latent.query_rank : hidden,
                  weights.query);
    binder.linear(prefix + "row_down", map.latent.row_down, latent.rank + latent.rope_width, hidden,
                  weights.latent.row_down);
    binder.norm(prefix + "row_norm", latent.row_norm, map.latent.row_norm, latent.rank, weights.latent.row_norm);
    weights.latent.key_up.resize(map.latent.key_up.size());
    weights.latent.value_up.resize(map.latent.value_up.size());
    for (std::size_t h = 0; h < map.latent.key_up.size(); ++h) {
        binder.matrix(text(prefix, "heads.", h, ".key_up.weight"), map.latent.key_up[h], latent.rank,
                      latent.plain_width, weights.latent.key_up[h]);
        binder.matrix(text(prefix, "heads.", h, ".value_up.weight"), map.latent.value_up[h], spec.value_width,
                      latent.rank, weights.latent.value_up[h]);
    }
}

// The role's word ".experts." makes the experts one line of a forecast.
void bind_head_mixture(Binder& binder, const std::string& prefix, std::int64_t hidden, const AttentionSpec& attention,
                       const LayerMap& map, LayerWeights& weights) {
    HeadMixtureWeights& heads = weights.heads;
    binder.matrix(prefix + "router.gate.weight", map.heads.router.weight, attention.head_router->expert_count, hidden,
                  heads.router.gate, WeightForm::plain);
    heads.query.resize(map.heads.query.size());
    heads.output.resize(map.heads.output.size());
    for (std::size_t e = 0; e < heads.query.size(); ++e) {
        const std::string expert = text(prefix, "experts.", e);
        binder.matrix(expert + ".query.weight", map.heads.query[e], attention.kv_heads * attention.key_width, hidden,
                      heads.query[e]);
        binder.matrix(expert + ".output.weight", map.heads.output[e], hidden,
                      attention.kv_heads * attention.value_width, heads.output[e]);
    }
    binder.vector(prefix + "output.bias", map.output.bias, hidden, weights.output.bias);
}

void bind_recurrent(Binder& binder, const std::string& prefix, std::int64_t hidden, const RecurrentSpec& spec,
                    const LayerMap& map, LayerWeights& weights) {
    RecurrentWeights& own = weights.recurrent;
    binder.linear(prefix + "query", map.query, spec.key_elements(), hidden, weights.query);
    binder.linear(prefix + "key", map.key, spec.key_elements(), hidden, weights.key);
    binder.linear(prefix + "value", map.value, spec.value_elements(), hidden, weights.value);
    binder.linear(prefix + "output_gate", map.recurrent.gate, spec.value_elements(), hidden, own.gate);
    // As routers, never below 16 bit: they decide what is remembered, and are small.
    for (const auto& [role, source, view] :
         {std::tuple{"rate", &map.recurrent.rate, &own.rate}, {"decay", &map.recurrent.decay, &own.decay}}) {
        binder.matrix(prefix + role + ".weight", source->weight, spec.value_heads, hidden, view->weight,
                      WeightForm::plain);
        binder.vector(prefix + role + ".bias", source->bias, spec.value_heads, view->bias);
    }
    binder.floats(prefix + "convolution", map.recurrent.convolution, spec.taps, spec.channels(), own.convolution);
    binder.floats(prefix + "decay_factor", map.recurrent.decay_factor, spec.value_heads, 1, own.decay_factor);
    binder.floats(prefix + "decay_bias", map.recurrent.decay_bias, spec.value_heads, 1, own.decay_bias);
    binder.norm(prefix + "output_norm", spec.output_norm, map.recurrent.output_norm, spec.value_width, own.output_norm);
    binder.linear(prefix + "output", map.output, hidden, spec.value_elements(), weights.output);
}

void bind_attention(Binder& binder, const std::string& prefix, std::int64_t hidden, const AttentionSpec& attention,
                    const LayerMap& map, LayerWeights& weights) {
    const std::int64_t queries = attention.query_heads * attention.key_width,
                       keys = attention.kv_heads * attention.key_width;
    if (attention.is_latent()) {
        bind_latent(binder, prefix, hidden, attention, map, weights);
    } else {
        if (!attention.head_router) binder.linear(prefix + "query", map.query, queries, hidden, weights.query);
        binder.linear(prefix + "key", map.key, keys, hidden, weights.key);
        binder.linear(prefix + "value", map.value, attention.kv_heads * attention.value_width, hidden, weights.value);
        binder.norm(prefix + "query_norm", attention.query_norm, map.query_norm,
                    attention.norm_spans_heads ? queries : attention.key_width, weights.query_norm);
        binder.norm(prefix + "key_norm", attention.key_norm, map.key_norm,
                    attention.norm_spans_heads ? keys : attention.key_width, weights.key_norm);
    }
    if (attention.has_output_gate) {
        binder.linear(prefix + "output_gate", map.output_gate, attention.query_heads * attention.value_width, hidden,
                      weights.output_gate);
    }
    if (attention.head_router) {
        bind_head_mixture(binder, prefix, hidden, attention, map, weights);
    } else {
        binder.linear(prefix + "output", map.output, hidden, attention.query_heads * attention.value_width,
                      weights.output);
    }
    if (attention.has_sinks) binder.vector(prefix + "sinks", map.sinks, attention.query_heads, weights.sinks);
    if (attention.position == PositionKind::relative_bias) {
        binder.floats(prefix + "position_bias", map.position_bias, attention.bias.buckets, attention.query_heads,
                      weights.position_bias);
    }
}

void bind_cross(Binder& binder, const std::string& prefix, std::int64_t hidden, const CrossSpec& cross,
                const CrossMap& map, CrossWeights& weights) {
    const std::int64_t keys = cross.heads * cross.key_width, values = cross.heads * cross.value_width;
    binder.norm(prefix + "norm", cross.norm, map.norm, hidden, weights.norm);
    binder.linear(prefix + "query", map.query, keys, hidden, weights.query);
    binder.linear(prefix + "key", map.key, keys, hidden, weights.key);
    binder.linear(prefix + "value", map.value, values, hidden, weights.value);
    binder.linear(prefix + "output", map.output, hidden, values, weights.output);
}

void bind_mixture(Binder& binder, const std::string& prefix, std::int64_t hidden, const MixtureSpec& spec,
                  const MixtureMap& map, LayerWeights& weights) {
    const ExpertSpec& experts = spec.experts;
    const std::int64_t count = experts.expert_count, gate_width = spec.router.gate_width;
    if (gate_width > 0) {
        binder.matrix(prefix + "router.inner.weight", map.inner_router.weight, gate_width, hidden,
                      weights.router.inner_gate, WeightForm::plain);
    }
    binder.matrix(prefix + "router.gate.weight", map.router.weight, count, gate_width > 0 ? gate_width : hidden,
                  weights.router.gate, WeightForm::plain);
    binder.vector(prefix + "router.gate.bias", map.router.bias, count, weights.router.gate_bias);
    binder.vector(prefix + "router.selection_bias", map.selection_bias, count, weights.router.selection_bias);
    weights.experts.resize(map.experts.size());
    for (std::size_t e = 0; e < map.experts.size(); ++e) {
        binder.expert(text(prefix, "experts.", e), map.experts[e], experts.is_gated, experts.width, hidden,
                      weights.experts[e]);
    }
    if (experts.shared_width == 0) return;
    binder.expert(prefix + "shared", map.shared, experts.is_gated, experts.shared_width, hidden, weights.shared);
    if (experts.is_shared_weighed)
        binder.matrix(prefix + "shared.weigh.weight", map.shared_gate, 1, hidden, weights.shared_gate,
                      WeightForm::plain);
}

void bind_layer(Binder& binder, const std::string& prefix, std::int64_t hidden, const LayerSpec& spec,
                const LayerMap& map, LayerWeights& weights) {
    binder.norm(prefix + "attention.norm", spec.attention_norm, map.attention_norm, hidden, weights.attention_norm);
    if (spec.recurrent)
        bind_recurrent(binder, prefix + "attention.", hidden, *spec.recurrent, map, weights);
    else
        bind_attention(binder, prefix + "attention.", hidden, spec.attention, map, weights);
    binder.norm(prefix + "attention.output_norm", spec.attention_output_norm, map.attention_output_norm, hidden,
                weights.attention_output_norm);
    if (spec.cross) bind_cross(binder, prefix + "attention.cross.", hidden, *spec.cross, map.cross, weights.cross);
    binder.norm(prefix + "ffn.norm", spec.ffn_norm, map.ffn_norm, hidden, weights.ffn_norm);
    binder.norm(prefix + "ffn.output_norm", spec.ffn_output_norm, map.ffn_output_norm, hidden, weights.ffn_output_norm);
    if (spec.mixture) {
        bind_mixture(binder, prefix, hidden, *spec.mixture, map.mixture, weights);
        return;
    }
    if (spec.ffn.is_gated) binder.linear(prefix + "ffn.gate", map.gate, spec.ffn.width, hidden, weights.gate);
    binder.linear(prefix + "ffn.up", map.up, spec.ffn.width, hidden, weights.up);
    binder.linear(prefix + "ffn.down", map.down, hidden, spec.ffn.width, weights.down);
}

}  // namespace

std::vector<WeightBinding> bind_weights(const ModelSpec& spec, const WeightMap& map, ModelWeights& weights) {
    Binder binder;
    const std::int64_t hidden = spec.hidden_size;
    weights.layers.resize(spec.layers.size());
    weights.rope_factors.resize(spec.ropes.size());
    // Tied, the head comes first: the bytes are its own, and the table shares them.
    weights.is_tied = map.head.weight == map.token_embedding;
    if (weights.is_tied) binder.linear("head", map.head, spec.vocabulary_size, hidden, weights.head);
    binder.table("token_embedding", map.token_embedding, spec.vocabulary_size, hidden, weights.token_embedding,
                 weights.is_tied ? WeightForm::packed : WeightForm::rows);
    if (spec.learned_positions > 0) {
        binder.table("position_embedding", map.position_embedding, spec.learned_positions, hidden,
                     weights.position_embedding, WeightForm::rows);
    }
    binder.norm("embedding_norm", spec.embedding_norm, map.embedding_norm, hidden, weights.embedding_norm);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        bind_layer(binder, text("layers.", l, "."), hidden, spec.layers[l], map.layers[l], weights.layers[l]);
    }
    binder.norm("encoder_norm", spec.encoder_norm, map.encoder_norm, hidden, weights.encoder_norm);
    binder.norm("final_norm", spec.final_norm, map.final_norm, hidden, weights.final_norm);
    if (!weights.is_tied) binder.linear("head", map.head, spec.vocabulary_size, hidden, weights.head);
    for (std::size_t i = 0; i < spec.ropes.size(); ++i) {
        const auto pairs = static_cast<std::int64_t>(spec.ropes[i].inverse_frequencies.size());
        binder.vector(text("rope.", i, ".factors"), spec.ropes[i].factors, pairs, weights.rope_factors[i].usual);
        binder.vector(text("rope.", i, ".long_factors"), spec.ropes[i].long_factors, pairs,
                      weights.rope_factors[i].of_long);
    }
    return binder.take();
}

}  // namespace mixtura
