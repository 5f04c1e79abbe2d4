// JetMoE: a mixture in every layer, and attention whose queries and outputs are routed through experts too.
// Sources: Shen et al. 2024 (arXiv 2404.07413), 2; the owners' modeling file in transformers (JetMoe).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_jetmoe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index, {.head_width = reader.integer({"kv_channels", ""})});
    constexpr float kLayerEpsilon = 1e-6F;  // the owners' norms within layers do not take the configuration's
    base.layer.attention_norm = base.layer.ffn_norm = {NormKind::rms, kLayerEpsilon};
    MixtureSpec mixture = read_mixture(
        reader, base.spec, {{"num_local_experts", ""}, {"num_experts_per_tok", ""}, {"intermediate_size", ""}});
    mixture.router.policy.scoring = RouterScoring::softmax_of_chosen;
    base.layer.attention.head_router = mixture.router;
    base.layer.mixture = mixture;
    reader.only({"activation_function", ""}, {"\"silu\""});
    reader.only({"glu", ""}, {"true"});
    reader.ignore({"aux_loss_coef"});
    base.is_tied = reader.boolean({"tie_word_embeddings", ""}, true);
    MIXTURA_RETURN_IF_ERROR(reader.status());

    Architecture out;
    out.spec = std::move(base.spec);
    out.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    out.map = hub_llama_map(index, out.spec, base.is_tied);
    const TensorNames names{index};
    const std::int64_t keys = base.layer.attention.kv_heads * base.layer.attention.key_width;
    for (std::size_t l = 0; l < out.map.layers.size(); ++l) {
        const std::string block = text("model.layers.", l, "."), attention = block + "self_attention.";
        LayerMap& layer = out.map.layers[l];
        const LinearSource fused = names.linear(attention + "kv_proj");
        layer.query = {};
        layer.key = with_rows(fused, {0, keys, keys});
        layer.value = with_rows(fused, {keys, keys, keys});
        layer.output = {{}, names.tensor(attention + "experts.bias")};
        layer.heads.router = names.linear(attention + "experts.router.layer");
        layer.mixture.router = names.linear(block + "mlp.router.layer");
        // A token's weights sum to one, so the bias behind the mixture is each expert's.
        const WeightSource bias = names.tensor(block + "mlp.bias");
        layer.mixture.experts = map_experts(index, mixture.experts.expert_count, [&](std::int64_t e) {
            ExpertMap expert = fused_expert(block + "mlp.", e, mixture.experts.width);
            expert.down.bias = bias;
            return expert;
        });
        for (std::size_t e = 0; e < layer.mixture.experts.size(); ++e) {
            const auto slice = static_cast<std::int64_t>(e);
            layer.heads.query.push_back({.tensor = attention + "experts.input_linear.weight", .slice = slice});
            layer.heads.output.push_back({.tensor = attention + "experts.output_linear.weight", .slice = slice});
        }
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
