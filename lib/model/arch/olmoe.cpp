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
    Architecture out;
    out.spec = std::move(base.spec);
    out.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_llama_map(index, out.spec, base.is_tied);
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        out.map.layers[l].mixture = hub_mixture({index}, text("model.layers.", l, ".mlp."), *base.layer.mixture, {});
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
