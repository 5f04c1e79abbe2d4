// MiniMax-M2: norms over all heads of queries and keys together, heads rotated in part, sigmoid scores with a bias that
// only chooses.
// Source: the owners' modeling file in transformers (MiniMaxM2).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_minimax_m2(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index, {.rotated_width = {"rotary_dim", ""}});
    AttentionSpec& attention = base.layer.attention;
    attention.query_norm = attention.key_norm = {NormKind::rms, base.epsilon};
    attention.norm_spans_heads = true;
    base.layer.mixture = read_mixture(
        reader, base.spec,
        {{"num_local_experts", kGgufExperts}, {"num_experts_per_tok", kGgufTopK}, {"intermediate_size", kGgufWidth}});
    RouterPolicy& policy = base.layer.mixture->router.policy;
    policy.scoring = RouterScoring::sigmoid;
    policy.renormalise = true;
    reader.only({"scoring_func", ""}, {"\"sigmoid\""});
    reader.only({"qk_norm_type", ""}, {"\"per_layer\""});
    reader.only({"use_qk_norm", ""}, {"true"});
    reader.only({"use_routing_bias", ""}, {"true"});
    reader.only({"shared_intermediate_size", ""}, {"0"});
    reader.ignore({"attn_type_list", "layernorm_full_attention_beta", "layernorm_linear_attention_beta",
                   "layernorm_mlp_beta", "mtp_transformer_layers", "num_mtp_modules", "use_mtp", "shared_moe_mode",
                   "quantization_config"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    base.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "block_sparse_moe",
                                 {.selection_bias = "e_score_correction_bias", .gate = "w1", .up = "w3", .down = "w2"});
}

}  // namespace mixtura
