// gpt-oss: windows on every second layer, a sink a head, biases everywhere, experts in a clamped form of SwiGLU.
// Experts' gates and ups lie row by row in one tensor, [expert][in][gate, up, gate, …] in bf16 files and
// [expert][gate, up, …][in] as MXFP4 in the published ones (codes in `_blocks`, exponents in `_scales`).
// Source: OpenAI 2025 (arXiv 2508.10925), 2; the owners' modeling file in transformers.
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

bool is_windowed(ConfigReader& reader, std::int64_t layer) {
    const auto types = reader.value({"layer_types", ""});
    if (types && types->is_array()) {
        std::int64_t at = 0;
        for (const JsonValue type : types->elements()) {
            if (at++ == layer) return type.as_string() == "sliding_attention";
        }
    }
    return layer % 2 == 0;
}

ExpertMap hub_expert(const WeightIndex& index, const std::string& stem, std::int64_t expert) {
    const bool is_mxfp4 = index.find(stem + "down_proj_blocks") != nullptr;
    const auto weight = [&](const std::string& name) {
        WeightSource source;
        source.tensor = stem + name + (is_mxfp4 ? "_blocks" : "");
        if (is_mxfp4) source.scales = stem + name + "_scales";
        source.is_transposed = !is_mxfp4;
        source.slice = expert;
        return source;
    };
    const auto bias = [&](const std::string& name) {
        WeightSource source;
        source.tensor = stem + name + "_bias";
        source.slice = expert;
        return source;
    };
    const LinearSource both{weight("gate_up_proj"), bias("gate_up_proj")};
    return {with_rows(both, {0, 1, 2}), with_rows(both, {1, 1, 2}), {weight("down_proj"), bias("down_proj")}};
}

}  // namespace

Result<Architecture> describe_gpt_oss(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index, {.rope = {RopePairing::half, false}});
    base.layer.attention.has_sinks = true;
    const std::int64_t window = reader.integer({"sliding_window", "attention.sliding_window"}, 0);
    base.layer.mixture = read_mixture(
        reader, base.spec,
        {{"num_local_experts", kGgufExperts}, {"num_experts_per_tok", kGgufTopK}, {"intermediate_size", kGgufWidth}});
    MixtureSpec& mixture = *base.layer.mixture;
    mixture.router.policy.scoring = RouterScoring::softmax_of_chosen;
    mixture.experts.clamp_limit = static_cast<float>(reader.real({"swiglu_limit", ""}, 7.0));
    mixture.experts.clamp_alpha = static_cast<float>(reader.real({"swiglu_alpha", ""}, 1.702));
    reader.ignore({"quantization_config", "initial_context_length", "experts_per_token"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    Architecture out;
    out.spec = std::move(base.spec);
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.layer.attention.window_tokens = is_windowed(reader, l) ? window : 0;
        out.spec.layers.push_back(base.layer);
    }
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_llama_map(index, out.spec, base.is_tied);
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        const std::string block = text("model.layers.", l, ".");
        LayerMap& layer = out.map.layers[l];
        layer.sinks.tensor = block + "self_attn.sinks";
        layer.mixture.router = TensorNames{index}.linear(block + "mlp.router");
        layer.mixture.experts = map_experts(index, mixture.experts.expert_count, [&](std::int64_t e) {
            return hub_expert(index, block + "mlp.experts.", e);
        });
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
