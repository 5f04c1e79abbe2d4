// GPT-2: learned positions, layer norms with bias, fused projections, ungated GELU (tanh form).
// Source: Radford et al. 2019; the owners' modeling file in transformers.  Its checkpoints store linear layers as
// Conv1D, that is [in, out].
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

LinearSource conv1d(const std::string& stem) {
    return {{.tensor = stem + ".weight", .is_transposed = true}, {.tensor = stem + ".bias"}};
}
NormSource norm(const std::string& stem) { return {{.tensor = stem + ".weight"}, {.tensor = stem + ".bias"}}; }

WeightMap hub_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied) {
    // Published GPT-2 files have no "transformer." prefix, files saved by transformers do.
    const std::string prefix = index.find("transformer.wte.weight") != nullptr ? "transformer." : "";
    WeightMap map;
    map.token_embedding.tensor = prefix + "wte.weight";
    map.position_embedding.tensor = prefix + "wpe.weight";
    map.final_norm = norm(prefix + "ln_f");
    map.head = head_or_embedding(index, "lm_head.weight", map.token_embedding, is_tied);
    const std::int64_t h = spec.hidden_size;
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text(prefix, "h.", l, ".");
        const LinearSource fused = conv1d(block + "attn.c_attn");
        LayerMap layer;
        layer.attention_norm = norm(block + "ln_1");
        layer.ffn_norm = norm(block + "ln_2");
        layer.query = with_rows(fused, {0, h, h});
        layer.key = with_rows(fused, {h, h, h});
        layer.value = with_rows(fused, {2 * h, h, h});
        layer.output = conv1d(block + "attn.c_proj");
        layer.up = conv1d(block + "mlp.c_fc");
        layer.down = conv1d(block + "mlp.c_proj");
        map.layers.push_back(std::move(layer));
    }
    return map;
}

}  // namespace

Result<Architecture> describe_gpt2(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    Architecture out;
    ModelSpec& spec = out.spec;
    spec.architecture = config.facts.architecture;
    spec.hidden_size = reader.integer({"n_embd", "embedding_length"});
    spec.vocabulary_size = config.facts.vocabulary_size;
    spec.context_tokens = spec.learned_positions = reader.integer({"n_positions", "context_length"});
    const auto epsilon = static_cast<float>(reader.real({"layer_norm_epsilon", "attention.layer_norm_epsilon"}));
    reader.only({"activation_function", ""}, {"\"gelu_new\"", "\"gelu_pytorch_tanh\""});
    reader.only({"scale_attn_by_inverse_layer_idx", ""}, {"false"});
    reader.only({"scale_attn_weights", ""}, {"true"});
    reader.only({"add_cross_attention", ""}, {"false"});
    reader.ignore({"n_layer", "num_hidden_layers", "vocab_size", "n_ctx", "n_special", "predict_special_tokens",
                   "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                   "summary_type", "summary_use_proj"});

    LayerSpec layer;
    layer.attention_norm = layer.ffn_norm = {NormKind::layer, epsilon};
    AttentionSpec& attention = layer.attention;
    attention.query_heads = attention.kv_heads = reader.integer({"n_head", "attention.head_count"});
    attention.key_width = attention.value_width =
        attention.query_heads > 0 ? spec.hidden_size / attention.query_heads : 0;
    attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_width));
    attention.position = PositionKind::learned;
    layer.ffn.width = reader.integer({"n_inner", "feed_forward_length"}, 4 * spec.hidden_size);
    layer.ffn.activation.kind = Activation::gelu_tanh;
    layer.ffn.is_gated = false;

    const bool is_tied = reader.boolean({"tie_word_embeddings", ""}, true);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    spec.layers.assign(static_cast<std::size_t>(config.facts.layer_count), layer);
    spec.final_norm = {NormKind::layer, epsilon};
    out.map = reader.is_gguf() ? gguf_map(index, spec) : hub_map(index, spec, is_tied);
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
