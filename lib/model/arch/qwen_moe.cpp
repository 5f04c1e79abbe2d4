// Qwen2-MoE and Qwen3-MoE: Qwen's attention, mixtures on every decoder_sparse_step-th layer but those of
// mlp_only_layers; Qwen2 with a shared expert that a sigmoid weighs.
// Sources: Qwen2 (arXiv 2407.10671), 2.2.2; Qwen3 (arXiv 2505.09388); the owners' modeling files in transformers.
#include <algorithm>

#include "base/error.hpp"
#include "model/arch/family.hpp"
#include "model/arch/qwen.hpp"

namespace mixtura {

MixtureSpec read_qwen_mixture(ConfigReader& reader, const ModelConfig& config, const ModelSpec& spec, bool may_share,
                              bool renormalises_in_gguf) {
    const bool is_today = config.values.root().find("num_local_experts").has_value();
    MixtureSpec mixture = read_mixture(reader, spec,
                                       {{is_today ? "num_local_experts" : "num_experts", kGgufExperts},
                                        {"num_experts_per_tok", kGgufTopK},
                                        {"moe_intermediate_size", kGgufWidth}});
    // GGUF does not state it: llama.cpp has it in the family's code.
    mixture.router.policy.renormalise =
        reader.boolean({"norm_topk_prob", "expert_weights_norm"}, reader.is_gguf() && renormalises_in_gguf);
    if (may_share) {
        mixture.experts.shared_width =
            reader.integer({"shared_expert_intermediate_size", "expert_shared_feed_forward_length"}, 0);
        mixture.experts.is_shared_weighed = mixture.experts.shared_width > 0;
    }
    return mixture;
}

std::vector<bool> sparse_layers_of_qwen(ConfigReader& reader, const WeightIndex& index, std::int64_t layer_count) {
    const std::int64_t step = reader.integer({"decoder_sparse_step", ""}, 1);
    std::vector<std::int64_t> dense;
    if (const auto list = reader.value({"mlp_only_layers", ""}); list && list->is_array()) {
        for (const JsonValue layer : list->elements()) dense.push_back(layer.as_integer().value_or(-1));
    }
    std::vector<bool> sparse;
    for (std::int64_t l = 0; l < layer_count; ++l) {
        const bool is_listed = std::find(dense.begin(), dense.end(), l) != dense.end();
        sparse.push_back(reader.is_gguf() ? index.find(text("blk.", l, ".ffn_gate_inp.weight")) != nullptr
                                          : !is_listed && step > 0 && (l + 1) % step == 0);
    }
    return sparse;
}

HubMixtureNames qwen_mixture_names(const MixtureSpec& mixture) {
    HubMixtureNames parts;
    if (mixture.experts.is_shared_weighed) {
        parts.shared = "shared_expert";
        parts.shared_gate = "shared_expert_gate";
    }
    return parts;
}

Result<Architecture> describe_qwen_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    const bool is_qwen2 = config.facts.architecture == "qwen2_moe" || config.facts.architecture == "qwen2moe";
    LlamaBase base = read_llama_base(reader, index);
    if (!is_qwen2) base.layer.attention.query_norm = base.layer.attention.key_norm = {NormKind::rms, base.epsilon};
    const MixtureSpec mixture = read_qwen_mixture(reader, config, base.spec, is_qwen2, !is_qwen2);
    const std::vector<bool> sparse = sparse_layers_of_qwen(reader, index, base.layer_count);
    // A window is configured but off in every published file.
    reader.only({"use_sliding_window", ""}, {"false"});
    reader.ignore({"sliding_window", "max_window_layers", "qkv_bias"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (const bool is_sparse : sparse) {
        base.spec.layers.push_back(base.layer);
        if (is_sparse) base.spec.layers.back().mixture = mixture;
    }
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp", qwen_mixture_names(mixture));
}

}  // namespace mixtura
