// DeepSeek-MoE (grouped-query attention), DeepSeek-V2 and V3 (latent attention) and those with V3's layers: some dense
// layers in front, then mixtures of many narrow experts with shared ones beside them.
//   deepseek   greedy softmax                                    Dai et al. 2024 (arXiv 2401.06066)
//   V2         softmax, the best groups by their best expert     arXiv 2405.04434, 2.1 and 2.2
//   V3         sigmoid, a bias that only chooses, the best groups by their two best experts, renormalised
//              arXiv 2412.19437, 2.1
//   V3.2       V3 whose attention sees the index_topk tokens that an indexer chooses.  Here it sees all: the same
//   numbers
//              up to so many tokens, and beyond them what V3 would do.  arXiv 2512.02556, 2.1
//   GLM-4.7-Flash (glm4_moe_lite)   V3's layer; the owners' modeling file in transformers
// Layers for predicting further tokens stand behind the last one in published files; nothing here names them.
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

void read_latent(ConfigReader& reader, LlamaBase& base) {
    AttentionSpec& attention = base.layer.attention;
    LatentSpec& latent = attention.latent;
    latent.rank = reader.integer({"kv_lora_rank", "attention.kv_lora_rank"});
    latent.query_rank = reader.integer({"q_lora_rank", "attention.q_lora_rank"}, 0);
    latent.rope_width = reader.integer({"qk_rope_head_dim", "rope.dimension_count"});
    if (reader.is_gguf()) {
        // Files from before the split for absorption state the heads' own widths under the plain keys.
        const std::int64_t key = reader.integer({"", "attention.key_length"});
        const std::int64_t value = reader.integer({"", "attention.value_length"});
        attention.key_width = reader.integer({"", "attention.key_length_mla"}, key);
        attention.value_width = reader.integer({"", "attention.value_length_mla"}, value);
        latent.plain_width = attention.key_width - latent.rope_width;
    } else {
        latent.plain_width = reader.integer({"qk_nope_head_dim", ""});
        attention.key_width = latent.plain_width + latent.rope_width;
        attention.value_width = reader.integer({"v_head_dim", ""});
    }
    reader.only({"rope_interleave", ""}, {"true"});
    reader.ignore({"qk_head_dim", "num_key_value_heads", "head_dim"});
    attention.kv_heads = 1;
    constexpr float kLatentNormEpsilon = 1e-6F;  // the owners' norms here do not take the configuration's
    latent.query_norm = latent.row_norm = {NormKind::rms, reader.is_gguf() ? base.epsilon : kLatentNormEpsilon};
    attention.scale = yarn_score_factor(reader) / std::sqrt(static_cast<float>(attention.key_width));
}

}  // namespace

Result<Architecture> describe_deepseek(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    const std::string& family = config.facts.architecture;
    const bool is_latent = family != "deepseek";
    BaseOptions options;
    // Latent heads are rotated by neighbouring pairs everywhere; GGUF permutes the first DeepSeek's heads to that.
    if (is_latent || reader.is_gguf()) options.rope.pairing = RopePairing::interleaved;
    if (is_latent) options.head_width = reader.integer({"qk_rope_head_dim", "rope.dimension_count"});
    LlamaBase base = read_llama_base(reader, index, options);
    if (is_latent) read_latent(reader, base);

    MixtureSpec mixture = read_mixture(reader, base.spec,
                                       {{"n_routed_experts", kGgufExperts},
                                        {"num_experts_per_tok", kGgufTopK},
                                        {"moe_intermediate_size", kGgufWidth}});
    RouterPolicy& policy = mixture.router.policy;
    const bool has_v3_rule = family == "deepseek_v3" || family == "deepseek_v32" || family == "glm4_moe_lite";
    const std::string scoring = reader.string({"scoring_func", ""}, has_v3_rule ? "sigmoid" : "softmax");
    if (scoring == "sigmoid") policy.scoring = RouterScoring::sigmoid;
    reader.only({"scoring_func", ""}, {"\"softmax\"", "\"sigmoid\""});
    read_gguf_scoring(reader, policy);
    const bool is_v3 = policy.scoring == RouterScoring::sigmoid;
    policy.routed_scale = static_cast<float>(reader.real({"routed_scaling_factor", "expert_weights_scale"}, 1.0));
    if (reader.is_gguf() && policy.routed_scale == 0.0F) policy.routed_scale = 1.0F;  // converters wrote 0 for "none"
    policy.renormalise = reader.boolean({"norm_topk_prob", "expert_weights_norm"}, false);
    if (is_v3) policy.renormalise_bias = 1e-20F;
    const std::string method = reader.string({"topk_method", ""}, is_v3 ? "noaux_tc" : "group_limited_greedy");
    reader.only({"topk_method", ""}, {"\"greedy\"", "\"group_limited_greedy\"", "\"noaux_tc\""});
    reader.ignore({"n_group", "topk_group"});
    if (method != "greedy" && is_latent)
        read_groups(reader, policy, is_v3 ? GroupScore::sum_of_top_two : GroupScore::largest);
    mixture.experts.shared_width =
        reader.integer({"n_shared_experts", "expert_shared_count"}, 0) * mixture.experts.width;
    const std::int64_t dense = reader.integer({"first_k_dense_replace", "leading_dense_block_count"}, 0);
    const std::int64_t step = reader.integer({"moe_layer_freq", ""}, 1);
    const std::int64_t indexed = reader.integer({"index_topk", ""}, 0);
    reader.ignore({"ep_size", "num_nextn_predict_layers", "aux_loss_alpha", "seq_aux", "quantization_config",
                   "index_head_dim", "index_n_heads", "mlp_layer_types"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.spec.layers.push_back(base.layer);
        const std::string kind = listed_word(reader, "mlp_layer_types", l);
        const bool is_sparse = kind.empty() ? l >= dense && step > 0 && l % step == 0 : kind == "sparse";
        if (is_sparse) base.spec.layers.back().mixture = mixture;
    }
    Architecture out =
        complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                              {.selection_bias = "gate.e_score_correction_bias", .shared = "shared_experts"});
    if (indexed > 0 && indexed < out.spec.context_tokens) {
        out.warnings.push_back(
            text("attention sees every token, not the ", indexed,
                 " that the model's indexer would choose (index_topk): beyond so many tokens answers "
                 "differ from its owners' code"));
    }
    return out;
}

}  // namespace mixtura
