// Llama 1 to 3, Mistral, Qwen2 and Qwen3: pre-norm RMS, grouped-query attention with rotary positions, gated SiLU.
// They differ in three facts: whether queries, keys and values have a bias (their tensors say so), whether each head of
// queries and keys is normalised (Qwen3), and windows (Mistral, Qwen2).  Mixtral is Mistral with a mixture in every
// layer, and in GGUF files it is a "llama" with experts.
// Sources: Touvron et al. 2023 (arXiv 2302.13971, 2307.09288); Mixtral: Jiang et al. 2024 (arXiv 2401.04088), 2.1;
// Qwen2 (arXiv 2407.10671); Qwen3 (arXiv 2505.09388); the owners' modeling files in transformers.
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Queries see window_tokens back, on the layers that layer_types (or max_window_layers) names.
std::int64_t window_of_layer(ConfigReader& reader, std::int64_t layer) {
    const std::string& family = reader.facts().architecture;
    const bool is_used = reader.boolean({"use_sliding_window", ""}, family == "mistral" || family == "mixtral");
    const std::int64_t window = reader.integer({"sliding_window", "attention.sliding_window"}, 0);
    const std::int64_t first = reader.integer({"max_window_layers", ""}, 0);
    const auto types = reader.value({"layer_types", ""});
    if (window == 0 || (!is_used && !reader.is_gguf())) return 0;
    if (types && types->is_array()) {
        std::int64_t at = 0;
        for (const JsonValue type : types->elements()) {
            if (at++ == layer) return type.as_string() == "sliding_attention" ? window : 0;
        }
    }
    return layer >= first ? window : 0;
}

}  // namespace

Result<Architecture> describe_llama(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    // GGUF files of the llama architecture hold query and key rows permuted for neighbouring pairs, Qwen's do not.
    const bool is_interleaved = reader.is_gguf() && config.facts.architecture == "llama";
    LlamaBase base =
        read_llama_base(reader, index, {.rope = {is_interleaved ? RopePairing::interleaved : RopePairing::half}});
    if (config.facts.architecture == "qwen3")
        base.layer.attention.query_norm = base.layer.attention.key_norm = {NormKind::rms, base.epsilon};
    const bool is_mixture = config.facts.expert_count > 0;
    if (is_mixture) {
        base.layer.mixture = read_mixture(reader, base.spec,
                                          {{"num_local_experts", kGgufExperts},
                                           {"num_experts_per_tok", kGgufTopK},
                                           {"intermediate_size", "feed_forward_length"}});
        base.layer.mixture->router.policy.renormalise = true;
        read_gguf_scoring(reader, base.layer.mixture->router.policy);
    }
    MIXTURA_RETURN_IF_ERROR(reader.status());
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.layer.attention.window_tokens = window_of_layer(reader, l);
        base.spec.layers.push_back(base.layer);
    }
    MIXTURA_RETURN_IF_ERROR(reader.status());
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "block_sparse_moe",
                                 {.gate = "w1", .up = "w3", .down = "w2"});
}

}  // namespace mixtura
