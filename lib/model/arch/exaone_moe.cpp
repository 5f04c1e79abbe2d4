// K-EXAONE: heads that are normed and, in layers that see a window, rotated; layers that see everything know no
// positions. Some dense layers in front, then DeepSeek-V3's mixture. Source: the owners' modeling file in transformers
// (ExaoneMoe).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Where the layers are not listed, every pattern-th sees everything.
bool is_windowed(ConfigReader& reader, std::int64_t layer) {
    const std::string kind = listed_word(reader, "layer_types", layer);
    if (!kind.empty()) return kind == "sliding_attention";
    const std::int64_t pattern = reader.integer({"sliding_window_pattern", ""}, 4);
    return pattern > 0 && (layer + 1) % pattern != 0;
}

}  // namespace

Result<Architecture> describe_exaone_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    AttentionSpec& attention = base.layer.attention;
    attention.query_norm = attention.key_norm = {NormKind::rms, base.epsilon};
    const std::int64_t window = reader.integer({"sliding_window", ""}, 0);
    MixtureSpec mixture = read_mixture(
        reader, base.spec, {{"num_experts", ""}, {"num_experts_per_tok", ""}, {"moe_intermediate_size", ""}});
    read_sigmoid_routing(reader, mixture.router.policy);
    reader.only({"scoring_func", ""}, {"\"sigmoid\""});
    reader.only({"topk_method", ""}, {"\"noaux_tc\""});
    mixture.experts.shared_width = reader.integer({"num_shared_experts", ""}, 0) * mixture.experts.width;
    const std::int64_t dense = reader.integer({"first_k_dense_replace", ""}, 1);
    // The first states each layer again, the others are of the heads for further tokens.
    reader.ignore({"is_moe_layer", "num_nextn_predict_layers", "mlp_layer_types", "sliding_window_pattern"});
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        const bool is_local = window > 0 && is_windowed(reader, l);
        attention.window_tokens = is_local ? window : 0;
        attention.position = is_local || window == 0 ? PositionKind::rope : PositionKind::none;
        base.spec.layers.push_back(base.layer);
        const std::string kind = listed_word(reader, "mlp_layer_types", l);
        if (kind.empty() ? l >= dense : kind == "sparse") base.spec.layers.back().mixture = mixture;
    }
    MIXTURA_RETURN_IF_ERROR(reader.status());
    // Published files have the bias beside the router, as transformers writes it too or below it.
    const bool is_beside =
        index.find(text("model.layers.", base.layer_count - 1, ".mlp.e_score_correction_bias")) != nullptr;
    return complete_architecture(
        reader, index, std::move(base.spec), base.is_tied, "mlp",
        {.selection_bias = is_beside ? "e_score_correction_bias" : "gate.e_score_correction_bias",
         .shared = "shared_experts"});
}

}  // namespace mixtura
