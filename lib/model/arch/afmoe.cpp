// AFMoE (Arcee's Trinity): norms in front of and behind attention and feed-forward, heads that are normed and, in
// layers that see a window, rotated, an attention whose output a sigmoid of its input gates; some dense layers in
// front, then mixtures by DeepSeek-V3's rule without groups. Source: the owners' modeling file in transformers (Afmoe).
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_afmoe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    const NormSpec norm{NormKind::rms, base.epsilon};
    LayerSpec& layer = base.layer;
    layer.attention_output_norm = layer.ffn_output_norm = norm;
    layer.attention.query_norm = layer.attention.key_norm = norm;
    layer.attention.has_output_gate = true;
    if (reader.boolean({"mup_enabled", ""}, false))
        base.spec.embedding_scale = std::sqrt(static_cast<float>(base.spec.hidden_size));
    MixtureSpec mixture = read_mixture(
        reader, base.spec, {{"num_experts", ""}, {"num_experts_per_tok", ""}, {"moe_intermediate_size", ""}});
    RouterPolicy& policy = mixture.router.policy;
    policy.scoring = RouterScoring::sigmoid;
    policy.renormalise = true;
    policy.renormalise_bias = 1e-20F;
    policy.routed_scale = static_cast<float>(reader.real({"route_scale", ""}, 1.0));
    reader.only({"score_func", ""}, {"\"sigmoid\""});
    reader.only({"route_norm", ""}, {"true"});
    reader.only({"num_expert_groups", ""}, {"1"});
    reader.only({"num_limited_groups", ""}, {"1"});
    reader.only({"n_group", ""}, {"1"});
    reader.only({"topk_group", ""}, {"1"});
    mixture.experts.shared_width = reader.integer({"num_shared_experts", ""}, 0) * mixture.experts.width;
    const std::int64_t window = reader.integer({"sliding_window", ""}, 0);
    const std::int64_t interval = reader.integer({"global_attn_every_n_layers", ""}, 4);
    const std::int64_t dense = reader.integer({"num_dense_layers", ""}, 0);
    reader.ignore({"load_balance_coeff", "use_grouped_mm"});
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        const std::string kind = listed_word(reader, "layer_types", l);
        const bool is_local = kind.empty() ? interval > 0 && (l + 1) % interval != 0 : kind == "sliding_attention";
        layer.attention.window_tokens = is_local ? window : 0;
        layer.attention.position = is_local ? PositionKind::rope : PositionKind::none;
        base.spec.layers.push_back(layer);
        if (l >= dense) base.spec.layers.back().mixture = mixture;
    }
    MIXTURA_RETURN_IF_ERROR(reader.status());

    Architecture out =
        complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                              {.router = "router.gate", .selection_bias = "expert_bias", .shared = "shared_experts"});
    for (std::size_t l = 0; l < out.map.layers.size(); ++l) {
        const TensorNames names{index};
        const std::string block = text("model.layers.", l, ".");
        LayerMap& map = out.map.layers[l];
        map.output_gate = names.linear(block + "self_attn.gate_proj");
        map.attention_output_norm = names.norm(block + "post_attention_layernorm");
        map.ffn_norm = names.norm(block + "pre_mlp_layernorm");
        map.ffn_output_norm = names.norm(block + "post_mlp_layernorm");
    }
    return out;
}

}  // namespace mixtura
