// Granite 3 MoE, with and without a shared expert: Llama's layer with multipliers on embeddings, scores, residuals and
// logits; experts' gates and ups lie in one tensor, [expert][gate, up].
// Source: the owners' modeling files in transformers (GraniteMoe, GraniteMoeShared).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_granite_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    const RopePairing pairing = reader.is_gguf() ? RopePairing::interleaved : RopePairing::half;
    LlamaBase base = read_llama_base(reader, index, {.rope = {pairing}});
    base.layer.attention.scale = static_cast<float>(
        reader.real({"attention_multiplier", "attention.scale"}, static_cast<double>(base.layer.attention.scale)));
    base.layer.residual_scale = static_cast<float>(reader.real({"residual_multiplier", "residual_scale"}, 1.0));
    base.spec.embedding_scale = static_cast<float>(reader.real({"embedding_multiplier", "embedding_scale"}, 1.0));
    base.spec.logit_divisor = static_cast<float>(reader.real({"logits_scaling", "logit_scale"}, 1.0));
    base.layer.mixture = read_mixture(reader, base.spec,
                                      {{"num_local_experts", kGgufExperts},
                                       {"num_experts_per_tok", kGgufTopK},
                                       {"intermediate_size", "feed_forward_length"}});
    MixtureSpec& mixture = *base.layer.mixture;
    mixture.router.policy.scoring = RouterScoring::softmax_of_chosen;
    mixture.experts.shared_width = reader.integer({"shared_intermediate_size", "expert_shared_feed_forward_length"}, 0);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    Architecture out;
    out.spec = std::move(base.spec);
    out.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_llama_map(index, out.spec, base.is_tied);
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        const std::string block = text("model.layers.", l, ".");
        MixtureMap& map = out.map.layers[l].mixture;
        map.router = TensorNames{index}.linear(block + "block_sparse_moe.router.layer");
        map.experts = map_experts(index, mixture.experts.expert_count, [&](std::int64_t e) {
            return fused_expert(block + "block_sparse_moe.", e, mixture.experts.width);
        });
        if (mixture.experts.shared_width > 0)
            map.shared = fused_expert(block + "shared_mlp.", -1, mixture.experts.shared_width);
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
