#include "model/weights_of_model.hpp"

#include "base/text.hpp"

namespace mixtura {
namespace {

class Binder {
  public:
    void matrix(std::string role, const WeightSource& source, std::int64_t rows, std::int64_t columns,
                PackedMatrix& view, WeightForm form = WeightForm::packed) {
        if (source.is_present()) bindings_.push_back({std::move(role), source, rows, columns, form, &view, nullptr});
    }
    void vector(std::string role, const WeightSource& source, std::int64_t count, const float*& view) {
        if (source.is_present())
            bindings_.push_back({std::move(role), source, count, 1, WeightForm::floats, nullptr, &view});
    }
    void linear(const std::string& role, const LinearSource& source, std::int64_t rows, std::int64_t columns,
                Linear& view) {
        matrix(role + ".weight", source.weight, rows, columns, view.weight);
        vector(role + ".bias", source.bias, rows, view.bias);
    }
    void norm(const std::string& role, const NormSpec& spec, const NormSource& source, std::int64_t width, Norm& view) {
        if (spec.kind == NormKind::none) return;
        vector(role + ".weight", source.weight, width, view.weight);
        if (spec.kind == NormKind::layer) vector(role + ".bias", source.bias, width, view.bias);
    }
    std::vector<WeightBinding> take() { return std::move(bindings_); }

  private:
    std::vector<WeightBinding> bindings_;
};

void bind_layer(Binder& binder, const std::string& prefix, std::int64_t hidden, const LayerSpec& spec,
                const LayerMap& map, LayerWeights& weights) {
    const AttentionSpec& attention = spec.attention;
    const std::int64_t queries = attention.query_heads * attention.key_width,
                       keys = attention.kv_heads * attention.key_width;
    const std::int64_t values = attention.kv_heads * attention.value_width;
    binder.norm(prefix + "attention.norm", spec.attention_norm, map.attention_norm, hidden, weights.attention_norm);
    binder.linear(prefix + "attention.query", map.query, queries, hidden, weights.query);
    binder.linear(prefix + "attention.key", map.key, keys, hidden, weights.key);
    binder.linear(prefix + "attention.value", map.value, values, hidden, weights.value);
    binder.linear(prefix + "attention.output", map.output, hidden, attention.query_heads * attention.value_width,
                  weights.output);
    binder.norm(prefix + "attention.query_norm", attention.query_norm, map.query_norm, attention.key_width,
                weights.query_norm);
    binder.norm(prefix + "attention.key_norm", attention.key_norm, map.key_norm, attention.key_width, weights.key_norm);
    binder.norm(prefix + "ffn.norm", spec.ffn_norm, map.ffn_norm, hidden, weights.ffn_norm);
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
    binder.matrix("token_embedding", map.token_embedding, spec.vocabulary_size, hidden, weights.token_embedding,
                  WeightForm::rows);
    if (spec.learned_positions > 0) {
        binder.matrix("position_embedding", map.position_embedding, spec.learned_positions, hidden,
                      weights.position_embedding, WeightForm::rows);
    }
    binder.norm("embedding_norm", spec.embedding_norm, map.embedding_norm, hidden, weights.embedding_norm);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        bind_layer(binder, text("layers.", l, "."), hidden, spec.layers[l], map.layers[l], weights.layers[l]);
    }
    binder.norm("final_norm", spec.final_norm, map.final_norm, hidden, weights.final_norm);
    binder.linear("head", map.head, spec.vocabulary_size, hidden, weights.head);
    for (std::size_t i = 0; i < spec.ropes.size(); ++i) {
        binder.vector(text("rope.", i, ".factors"), spec.ropes[i].factors,
                      static_cast<std::int64_t>(spec.ropes[i].inverse_frequencies.size()), weights.rope_factors[i]);
    }
    return binder.take();
}

}  // namespace mixtura
