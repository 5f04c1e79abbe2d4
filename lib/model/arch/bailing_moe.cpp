// Ling 2 and Ring 2 (BailingMoeV2): normed heads rotated in part, out of one tensor; some dense layers in front, then
// DeepSeek-V3's mixture.  The first generation has the same model_type, routes by softmax and is refused by that.
// Source: the owners' modeling file (inclusionAI, Ling-V2, models/modeling_bailing_moe_v2.py).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

void rename(const WeightIndex& index, const ModelSpec& spec, bool is_tied, WeightMap& map) {
    const TensorNames names{index};
    map.token_embedding.tensor = "model.word_embeddings.weight";
    map.head = head_or_embedding(index, "lm_head.weight", map.token_embedding, is_tied);
    for (std::size_t l = 0; l < map.layers.size(); ++l) {
        const std::string stem = text("model.layers.", l, ".attention.");
        const AttentionSpec& attention = spec.layers[l].attention;
        const std::int64_t queries = attention.query_heads * attention.key_width,
                           keys = attention.kv_heads * attention.key_width;
        const LinearSource fused = names.linear(stem + "query_key_value");
        LayerMap& layer = map.layers[l];
        layer.query = with_rows(fused, {0, queries, queries});
        layer.key = with_rows(fused, {queries, keys, keys});
        layer.value = with_rows(fused, {queries + keys, keys, keys});
        layer.query_norm = names.norm(stem + "query_layernorm");
        layer.key_norm = names.norm(stem + "key_layernorm");
        layer.output = names.linear(stem + "dense");
    }
}

}  // namespace

Result<Architecture> describe_bailing_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    if (reader.boolean({"use_qk_norm", ""}, true))
        base.layer.attention.query_norm = base.layer.attention.key_norm = {NormKind::rms, base.epsilon};
    MixtureSpec mixture = read_mixture(
        reader, base.spec, {{"num_experts", ""}, {"num_experts_per_tok", ""}, {"moe_intermediate_size", ""}});
    read_sigmoid_routing(reader, mixture.router.policy);
    const std::string scoring = reader.string({"score_function", ""}, "softmax");
    if (scoring != "sigmoid") {
        reader.fail(error(StatusCode::unsupported, "the configuration's 'score_function' is ", quoted(scoring),
                          ", expected sigmoid: of bailing_moe only the second generation is known"));
    }
    reader.only({"norm_head", ""}, {"false"});
    reader.only({"norm_topk_prob", ""}, {"true"});
    mixture.experts.shared_width = reader.integer({"num_shared_experts", ""}, 0) * mixture.experts.width;
    const std::int64_t dense = reader.integer({"first_k_dense_replace", ""}, 0);
    // Biases are there or not by their tensors; the windows are never used; what is rotated is partial_rotary_factor's.
    reader.ignore({"use_bias", "use_qkv_bias", "use_rmsnorm", "norm_softmax", "rotary_dim", "router_dtype",
                   "using_split_qkv_in_self_attention", "moe_shared_expert_intermediate_size", "max_window_layers",
                   "use_sliding_window", "sliding_window", "embedding_dropout", "output_dropout",
                   "moe_router_enable_expert_bias", "num_nextn_predict_layers", "mtp_loss_scaling_factor",
                   "partial_rotary_factor"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.spec.layers.push_back(base.layer);
        if (l >= dense) base.spec.layers.back().mixture = mixture;
    }
    Architecture out = complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                                             {.selection_bias = "gate.expert_bias", .shared = "shared_experts"});
    rename(index, out.spec, base.is_tied, out.map);
    return out;
}

}  // namespace mixtura
