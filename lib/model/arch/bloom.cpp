// BLOOM: ALiBi, a norm behind the embedding, fused projections with heads interleaved, ungated GELU (tanh form).
// Source: Le Scao et al. 2022 (arXiv 2211.05100); ALiBi: Press et al. 2021 (arXiv 2108.12409); the owners' modeling
// file in transformers.
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

WeightMap hub_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied) {
    // Published BLOOM files have no "transformer." prefix, files saved by transformers do.
    const std::string prefix = index.find("transformer.word_embeddings.weight") != nullptr ? "transformer." : "";
    const TensorNames names{index};
    WeightMap map;
    map.token_embedding.tensor = prefix + "word_embeddings.weight";
    map.embedding_norm = names.norm(prefix + "word_embeddings_layernorm");
    map.final_norm = names.norm(prefix + "ln_f");
    map.head = head_or_embedding(index, "lm_head.weight", map.token_embedding, is_tied);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text(prefix, "h.", l, ".");
        const LinearSource fused = names.linear(block + "self_attention.query_key_value");
        const std::int64_t d = spec.layers[l].attention.key_width;
        LayerMap layer;
        layer.attention_norm = names.norm(block + "input_layernorm");
        layer.ffn_norm = names.norm(block + "post_attention_layernorm");
        // Rows are [head][query, key, value][D].
        layer.query = with_rows(fused, {0, d, 3 * d});
        layer.key = with_rows(fused, {d, d, 3 * d});
        layer.value = with_rows(fused, {2 * d, d, 3 * d});
        layer.output = names.linear(block + "self_attention.dense");
        layer.up = names.linear(block + "mlp.dense_h_to_4h");
        layer.down = names.linear(block + "mlp.dense_4h_to_h");
        map.layers.push_back(std::move(layer));
    }
    return map;
}

}  // namespace

Result<Architecture> describe_bloom(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    Architecture out;
    ModelSpec& spec = out.spec;
    spec.architecture = config.facts.architecture;
    spec.hidden_size =
        reader.integer({config.values.root().find("n_embed") ? "n_embed" : "hidden_size", "embedding_length"});
    spec.vocabulary_size = config.facts.vocabulary_size;
    // ALiBi has no length it could not go beyond; what the file states (or the paper's 2048) is what it was trained
    // for.
    spec.context_tokens = config.facts.context_tokens > 0 ? config.facts.context_tokens : 2048;
    const auto epsilon = static_cast<float>(reader.real({"layer_norm_epsilon", "attention.layer_norm_epsilon"}));
    reader.only({"apply_residual_connection_post_layernorm", ""}, {"false"});
    reader.ignore({"n_layer", "num_hidden_layers", "vocab_size", "max_position_embeddings", "seq_length",
                   "slow_but_exact", "masked_softmax_fusion", "attention_softmax_in_fp32", "bias_dropout_fusion",
                   "skip_bias_add", "skip_bias_add_qkv", "offset_alibi", "unk_token_id", "n_inner"});

    LayerSpec layer;
    layer.attention_norm = layer.ffn_norm = {NormKind::layer, epsilon};
    AttentionSpec& attention = layer.attention;
    const std::string_view heads = config.values.root().find("num_attention_heads") ? "num_attention_heads" : "n_head";
    attention.query_heads = attention.kv_heads = reader.integer({heads, "attention.head_count"});
    attention.key_width = attention.value_width =
        attention.query_heads > 0 ? spec.hidden_size / attention.query_heads : 0;
    attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_width));
    attention.position = PositionKind::alibi;
    layer.ffn.width = reader.integer({"", "feed_forward_length"}, 4 * spec.hidden_size);
    layer.ffn.activation.kind = Activation::gelu_tanh;
    layer.ffn.is_gated = false;

    const bool is_tied = reader.boolean({"tie_word_embeddings", ""}, true);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    spec.layers.assign(static_cast<std::size_t>(config.facts.layer_count), layer);
    spec.embedding_norm = spec.final_norm = {NormKind::layer, epsilon};
    out.map = reader.is_gguf() ? gguf_map(index, spec) : hub_map(index, spec, is_tied);
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
