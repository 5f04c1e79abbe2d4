// Hunyuan-A13B: Llama's layer with norms of each head behind the rotation; one shared expert as wide as a routed one.
// Source: the owners' modeling file in transformers (HunYuanMoEV1); Hunyuan-Large (arXiv 2411.02265), 2.2.
#include <algorithm>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Published files state some numbers a layer; layers that differ would be another model.
std::int64_t same_in_all(ConfigReader& reader, ConfigKey key, std::int64_t otherwise) {
    const auto value = reader.value(key);
    if (!value || !value->is_array()) return reader.integer(key, otherwise);
    std::int64_t first = -1;
    for (const JsonValue element : value->elements()) {
        const std::int64_t number = element.as_integer().value_or(-1);
        if (first < 0) first = number;
        if (number < 1 || number != first) {
            reader.fail(error(StatusCode::unsupported, "the configuration's ", quoted(key.hub),
                              " differs from layer to layer, expected one number for all"));
        }
    }
    return first;
}

}  // namespace

Result<Architecture> describe_hunyuan_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    AttentionSpec& attention = base.layer.attention;
    if (reader.boolean({"use_qk_norm", ""}, true)) {
        attention.query_norm = attention.key_norm = {NormKind::rms, base.epsilon};
        attention.norm_follows_rotation = true;
    }
    base.layer.mixture.emplace();
    MixtureSpec& mixture = *base.layer.mixture;
    mixture.experts.hidden_size = mixture.router.hidden_size = base.spec.hidden_size;
    mixture.experts.expert_count = mixture.router.expert_count = same_in_all(reader, {"num_experts", kGgufExperts}, 0);
    mixture.router.policy.top_k = same_in_all(reader, {"moe_topk", kGgufTopK}, 1);
    mixture.router.policy.renormalise = true;
    mixture.experts.width = same_in_all(reader, {"moe_intermediate_size", kGgufWidth}, base.layer.ffn.width);
    const std::int64_t shared = same_in_all(reader, {"num_shared_expert", ""}, 1);
    mixture.experts.shared_width =
        reader.integer({"", "expert_shared_feed_forward_length"}, shared * base.layer.ffn.width);
    reader.only({"use_mixed_mlp_moe", ""}, {"true"});
    reader.only({"use_cla", ""}, {"false"});
    reader.only({"norm_topk_prob", ""}, {"true"});
    reader.ignore({"eod_token_id",
                   "sep_token_id",
                   "pretraining_tp",
                   "moe_layer_num_skipped",
                   "moe_drop_tokens",
                   "moe_random_routing_dropped_token",
                   "capacity_factor",
                   "cla_share_factor",
                   "im_start_id",
                   "im_end_id",
                   "im_newline_id",
                   "text_start_id",
                   "text_end_id",
                   "mask_init_id",
                   "pad_id",
                   "org_vocab_size",
                   "norm_type",
                   "use_mla",
                   "group_limited_greedy",
                   "n_group",
                   "topk_group",
                   "routed_scaling_factor",
                   "add_classification_head",
                   "class_num",
                   "pool_type",
                   "attention_head_dim"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    base.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    Architecture out = complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                                             {.router = "gate.wg", .shared = "shared_mlp"});
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        const TensorNames names{index};
        const std::string attention_names = text("model.layers.", l, ".self_attn.");
        out.map.layers[l].query_norm = names.norm(attention_names + "query_layernorm");
        out.map.layers[l].key_norm = names.norm(attention_names + "key_layernorm");
    }
    return out;
}

}  // namespace mixtura
