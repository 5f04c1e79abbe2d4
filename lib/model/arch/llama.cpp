// Llama 1 to 3, Mistral, Qwen2 and Qwen3: pre-norm RMS, grouped-query attention with rotary positions, gated SiLU.
// They differ in three facts: whether queries, keys and values have a bias (their tensors say so), whether each head of
// queries and keys is normalised (Qwen3), and windows (Mistral, Qwen2).
// Sources: Touvron et al. 2023 (arXiv 2302.13971, 2307.09288); Qwen2 (arXiv 2407.10671); Qwen3 (arXiv 2505.09388); the
// owners' modeling files in transformers.
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Queries see window_tokens back, on the layers that layer_types (or max_window_layers) names.
std::int64_t window_of_layer(ConfigReader& reader, std::int64_t layer) {
    const bool is_used = reader.boolean({"use_sliding_window", ""}, reader.facts().architecture == "mistral");
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
    const ModelFacts& facts = config.facts;
    Architecture out;
    ModelSpec& spec = out.spec;
    spec.architecture = facts.architecture;
    spec.hidden_size = reader.integer({"hidden_size", "embedding_length"});
    spec.vocabulary_size = facts.vocabulary_size;
    reader.ignore({"vocab_size"});
    spec.context_tokens = reader.integer({"max_position_embeddings", "context_length"});
    const auto epsilon = static_cast<float>(reader.real({"rms_norm_eps", "attention.layer_norm_rms_epsilon"}));
    reader.only({"hidden_act", ""}, {"\"silu\""});
    const bool is_qwen3 = facts.architecture == "qwen3";

    LayerSpec layer;
    layer.attention_norm = layer.ffn_norm = {NormKind::rms, epsilon};
    AttentionSpec& attention = layer.attention;
    attention.query_heads = reader.integer({"num_attention_heads", "attention.head_count"});
    attention.kv_heads = reader.integer({"num_key_value_heads", "attention.head_count_kv"}, attention.query_heads);
    const std::int64_t width = attention.query_heads > 0 ? spec.hidden_size / attention.query_heads : 0;
    attention.key_width = reader.integer({"head_dim", "attention.key_length"}, width);
    attention.value_width = reader.integer({"", "attention.value_length"}, attention.key_width);
    attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_width));
    if (is_qwen3) attention.query_norm = attention.key_norm = {NormKind::rms, epsilon};
    // Biases are there or not by their tensors; the flags only say so again.
    reader.ignore({"attention_bias", "mlp_bias"});
    layer.ffn.width = reader.integer({"intermediate_size", "feed_forward_length"});

    // GGUF files of the llama architecture hold query and key rows permuted for neighbouring pairs, Qwen's do not.
    const bool is_interleaved = reader.is_gguf() && facts.architecture == "llama";
    const std::int64_t rotated = reader.integer({"", "rope.dimension_count"}, attention.key_width);
    spec.ropes.push_back(read_rope(reader, rotated, is_interleaved ? RopePairing::interleaved : RopePairing::half));
    if (reader.is_gguf()) spec.ropes[0].factors = TensorNames{index}.tensor("rope_freqs.weight");

    const std::int64_t layer_count = reader.integer({"num_hidden_layers", "block_count"});
    MIXTURA_RETURN_IF_ERROR(reader.status());
    for (std::int64_t l = 0; l < layer_count; ++l) {
        attention.window_tokens = window_of_layer(reader, l);
        spec.layers.push_back(layer);
    }
    spec.final_norm = {NormKind::rms, epsilon};
    const bool is_tied = reader.boolean({"tie_word_embeddings", ""}, false);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    out.map = reader.is_gguf() ? gguf_map(index, spec) : hub_llama_map(index, spec, is_tied);
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
