// GLM-4.5 and 4.6: partly rotated heads with optional norms, some dense layers in front, then DeepSeek-V3's mixture.
// Layers for predicting further tokens stand behind the last one in published files; nothing here names them.
// Source: GLM-4.5 (arXiv 2508.06471), 2.1; the owners' modeling file in transformers.
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_glm4_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    const std::string norm = reader.is_gguf() ? "blk.0.attn_q_norm.weight" : "model.layers.0.self_attn.q_norm.weight";
    if (reader.boolean({"use_qk_norm", ""}, index.find(norm) != nullptr))
        base.layer.attention.query_norm = base.layer.attention.key_norm = {NormKind::rms, base.epsilon};
    MixtureSpec mixture = read_mixture(reader, base.spec,
                                       {{"n_routed_experts", kGgufExperts},
                                        {"num_experts_per_tok", kGgufTopK},
                                        {"moe_intermediate_size", kGgufWidth}});
    RouterPolicy& policy = mixture.router.policy;
    policy.scoring = RouterScoring::sigmoid;
    policy.routed_scale = static_cast<float>(reader.real({"routed_scaling_factor", "expert_weights_scale"}, 1.0));
    policy.renormalise = reader.boolean({"norm_topk_prob", "expert_weights_norm"}, true);
    policy.renormalise_bias = 1e-20F;
    policy.group_count = reader.integer({"n_group", "expert_group_count"}, 1);
    policy.groups_kept = reader.integer({"topk_group", "expert_group_used_count"}, policy.group_count);
    policy.group_score = GroupScore::sum_of_top_two;
    mixture.experts.shared_width =
        reader.integer({"n_shared_experts", "expert_shared_count"}, 0) * mixture.experts.width;
    const std::int64_t dense = reader.integer({"first_k_dense_replace", "leading_dense_block_count"}, 0);
    reader.ignore({"num_nextn_predict_layers"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    Architecture out;
    out.spec = std::move(base.spec);
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        out.spec.layers.push_back(base.layer);
        if (l >= dense) out.spec.layers.back().mixture = mixture;
    }
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_llama_map(index, out.spec, base.is_tied);
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        if (!out.spec.layers[l].mixture) continue;
        out.map.layers[l].mixture =
            hub_mixture({index}, text("model.layers.", l, ".mlp."), mixture,
                        {.selection_bias = "gate.e_score_correction_bias", .shared = "shared_experts"});
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
