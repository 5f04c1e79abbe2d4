// DBRX: layer norms without bias, queries, keys and values from one matrix and cut to ± clip_qkv, weights divided by
// their norm; the experts' matrices lie one below another, [expert · F, H], the last one transposed. Source: Databricks
// 2024 (the model's technical blog); the owners' modeling file in transformers.
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

WeightMap hub_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied) {
    const TensorNames names{index};
    WeightMap map;
    map.token_embedding.tensor = "transformer.wte.weight";
    map.final_norm = names.norm("transformer.norm_f");
    map.head = head_or_embedding(index, "lm_head.weight", map.token_embedding, is_tied);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text("transformer.blocks.", l, "."), outer = block + "norm_attn_norm.";
        const AttentionSpec& attention = spec.layers[l].attention;
        const std::int64_t queries = attention.query_heads * attention.key_width,
                           keys = attention.kv_heads * attention.key_width;
        const LinearSource fused = names.linear(outer + "attn.Wqkv");
        LayerMap layer;
        layer.attention_norm = names.norm(outer + "norm_1");
        layer.ffn_norm = names.norm(outer + "norm_2");
        layer.query = with_rows(fused, {0, queries, queries});
        layer.key = with_rows(fused, {queries, keys, keys});
        layer.value = with_rows(fused, {queries + keys, keys, keys});
        layer.output = names.linear(outer + "attn.out_proj");
        layer.mixture.router = names.linear(block + "ffn.router.layer");
        const std::int64_t count = spec.layers[l].mixture->experts.expert_count;
        layer.mixture.experts = map_experts(index, count, [&](std::int64_t e) {
            ExpertMap expert;
            expert.gate.weight.tensor = block + "ffn.experts.mlp.w1";
            expert.up.weight.tensor = block + "ffn.experts.mlp.v1";
            expert.down.weight.tensor = block + "ffn.experts.mlp.w2";
            expert.down.weight.is_transposed = true;
            for (WeightSource* source : {&expert.gate.weight, &expert.up.weight, &expert.down.weight}) {
                source->slice = e;
                source->slice_count = count;
            }
            return expert;
        });
        map.layers.push_back(std::move(layer));
    }
    return map;
}

}  // namespace

Result<Architecture> describe_dbrx(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    Architecture out;
    ModelSpec& spec = out.spec;
    spec.architecture = config.facts.architecture;
    spec.hidden_size = reader.integer({"d_model", "embedding_length"});
    spec.vocabulary_size = config.facts.vocabulary_size;
    spec.context_tokens = reader.integer({"max_seq_len", "context_length"});
    const auto epsilon = static_cast<float>(reader.real({"", "attention.layer_norm_epsilon"}, 1e-5));
    LayerSpec layer;
    spec.final_norm = layer.attention_norm = layer.ffn_norm = {NormKind::layer, epsilon};
    AttentionSpec& attention = layer.attention;
    attention.query_heads = reader.integer({"n_heads", "attention.head_count"});
    attention.kv_heads = reader.integer({"attn_config.kv_n_heads", "attention.head_count_kv"}, attention.query_heads);
    attention.key_width = attention.value_width =
        attention.query_heads > 0 ? spec.hidden_size / attention.query_heads : 0;
    attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_width));
    attention.clip = static_cast<float>(reader.real({"attn_config.clip_qkv", "attention.clamp_kqv"}, 0.0));
    spec.ropes.push_back(read_rope(reader, attention.key_width, {}));
    layer.mixture = read_mixture(reader, spec,
                                 {{"ffn_config.moe_num_experts", kGgufExperts},
                                  {"ffn_config.moe_top_k", kGgufTopK},
                                  {"ffn_config.ffn_hidden_size", "feed_forward_length"}});
    // The weights are positive, so their 1-norm is their sum; no other norm was published.
    const double norm = reader.real({"ffn_config.moe_normalize_expert_weights", ""}, reader.is_gguf() ? 1.0 : 0.0);
    reader.only({"ffn_config.moe_normalize_expert_weights", ""}, {"1"});
    layer.mixture->router.policy.renormalise = norm != 0;
    reader.only({"ffn_config.ffn_act_fn.name", ""}, {"\"silu\""});
    const bool is_tied = reader.boolean({"tie_word_embeddings", ""}, false);
    reader.ignore(
        {"n_layers", "vocab_size", "emb_pdrop", "output_router_logits", "router_aux_loss_coef", "num_key_value_heads"});
    MIXTURA_RETURN_IF_ERROR(reader.status());
    spec.layers.assign(static_cast<std::size_t>(config.facts.layer_count), layer);
    out.map = reader.is_gguf() ? gguf_map(index, spec) : hub_map(index, spec, is_tied);
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
