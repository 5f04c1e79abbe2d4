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
    read_sigmoid_routing(reader, mixture.router.policy);
    mixture.experts.shared_width =
        reader.integer({"n_shared_experts", "expert_shared_count"}, 0) * mixture.experts.width;
    const std::int64_t dense = reader.integer({"first_k_dense_replace", "leading_dense_block_count"}, 0);
    reader.ignore({"num_nextn_predict_layers"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.spec.layers.push_back(base.layer);
        if (l >= dense) base.spec.layers.back().mixture = mixture;
    }
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                                 {.selection_bias = "gate.e_score_correction_bias", .shared = "shared_experts"});
}

}  // namespace mixtura
