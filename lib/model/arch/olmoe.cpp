// OLMoE: Llama's layer with norms over all heads of queries and keys together, and a mixture in every layer.
// Source: Muennighoff et al. 2024 (arXiv 2409.02060); the owners' modeling file in transformers.
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_olmoe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    AttentionSpec& attention = base.layer.attention;
    attention.query_norm = attention.key_norm = {NormKind::rms, base.epsilon};
    attention.norm_spans_heads = true;
    attention.clip = static_cast<float>(reader.real({"clip_qkv", "attention.clamp_kqv"}, 0.0));
    const bool is_today = config.values.root().find("num_local_experts").has_value();
    base.layer.mixture = read_mixture(reader, base.spec,
                                      {{is_today ? "num_local_experts" : "num_experts", kGgufExperts},
                                       {"num_experts_per_tok", kGgufTopK},
                                       {"intermediate_size", "feed_forward_length"}});
    base.layer.mixture->router.policy.renormalise = reader.boolean({"norm_topk_prob", "expert_weights_norm"}, false);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    base.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp", {});
}

}  // namespace mixtura
