// Llama 4, the text model: chunked attention with rotary positions on most layers, full attention without positions on
// the others, a sigmoid that weighs the one chosen expert's input, a shared expert.
// Published files nest the text model under "language_model."; experts lie in [expert][in][gate | up].
// Source: the owners' modeling file in transformers (Llama4Text); scaled queries: Nakanishi 2025 (arXiv 2501.19399).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Element `layer` of a list, or what the family's code makes of no list.
bool listed(ConfigReader& reader, std::string_view key, std::int64_t layer, bool otherwise) {
    const auto list = reader.value({key, ""});
    if (!list || !list->is_array()) return otherwise;
    std::int64_t at = 0;
    for (const JsonValue element : list->elements()) {
        if (at++ == layer) return element.as_integer().value_or(element.as_boolean().value_or(false) ? 1 : 0) != 0;
    }
    return otherwise;
}

bool is_sparse(ConfigReader& reader, std::int64_t layer) {
    const std::int64_t step = reader.integer({"interleave_moe_layer_step", "interleave_moe_layer_step"}, 1);
    const auto list = reader.value({"moe_layers", ""});
    if (!list || !list->is_array()) return step > 0 && (layer + 1) % step == 0;
    for (const JsonValue element : list->elements()) {
        if (element.as_integer() == layer) return true;
    }
    return false;
}

ExpertMap hub_expert(const std::string& stem, std::int64_t expert, std::int64_t width) {
    ExpertMap map;
    map.gate.weight.tensor = map.up.weight.tensor = stem + "experts.gate_up_proj";
    map.gate.weight.rows = {0, width, width};
    map.up.weight.rows = {width, width, width};
    map.down.weight.tensor = stem + "experts.down_proj";
    for (WeightSource* source : {&map.gate.weight, &map.up.weight, &map.down.weight}) {
        source->slice = expert;
        source->is_transposed = true;
    }
    return map;
}

void read_layers(ConfigReader& reader, LlamaBase& base, const MixtureSpec& mixture, ModelSpec& spec) {
    AttentionSpec attention = base.layer.attention;
    // GGUF states neither; llama.cpp takes the published models' 8192 and every fourth layer, or, where the file has a
    // window of 0, neither chunks nor layers without positions.
    const bool is_whole = reader.integer({"", "attention.sliding_window"}, 8192) == 0;
    const std::int64_t chunk = reader.integer({"attention_chunk_size", ""}, is_whole ? 0 : 8192);
    const std::int64_t interval = reader.integer({"no_rope_layer_interval", ""}, is_whole ? 0 : 4);
    const bool is_normed = reader.boolean({"use_qk_norm", ""}, mixture.experts.expert_count != 128);
    const bool is_tuned = reader.boolean({"attn_temperature_tuning", ""}, true);
    const auto gain = static_cast<float>(reader.real({"attn_scale", ""}, 0.1));
    const auto gain_tokens = static_cast<float>(reader.real({"floor_scale", ""}, 8192.0));
    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.layer.attention = attention;
        AttentionSpec& own = base.layer.attention;
        if (listed(reader, "no_rope_layers", l, interval <= 0 || (l + 1) % interval != 0)) {
            own.chunk_tokens = chunk;
            // A norm without weights, behind the rotation.
            if (is_normed) own.query_norm = own.key_norm = {NormKind::rms, base.epsilon};
            own.norm_follows_rotation = true;
        } else {
            own.position = PositionKind::none;
            own.query_gain = is_tuned ? gain : 0.0F;
            own.query_gain_tokens = gain_tokens;
        }
        spec.layers.push_back(base.layer);
        if (is_sparse(reader, l)) spec.layers.back().mixture = mixture;
    }
}

WeightMap hub_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied) {
    const TensorNames names{index};
    const bool is_nested = index.find("language_model.model.embed_tokens.weight") != nullptr;
    const std::string prefix = is_nested ? "language_model.model." : "model.";
    WeightMap map = hub_llama_map(index, spec, is_tied, prefix);
    for (std::size_t l = 0; l < map.layers.size(); ++l) {
        const std::string stem = text(prefix, "layers.", l, ".feed_forward.");
        LayerMap& layer = map.layers[l];
        layer.gate = names.linear(stem + "gate_proj");
        layer.up = names.linear(stem + "up_proj");
        layer.down = names.linear(stem + "down_proj");
        if (!spec.layers[l].mixture) continue;
        const ExpertSpec& experts = spec.layers[l].mixture->experts;
        layer.mixture.router = names.linear(stem + "router");
        layer.mixture.experts = map_experts(index, experts.expert_count,
                                            [&](std::int64_t e) { return hub_expert(stem, e, experts.width); });
        layer.mixture.shared = {names.linear(stem + "shared_expert.gate_proj"),
                                names.linear(stem + "shared_expert.up_proj"),
                                names.linear(stem + "shared_expert.down_proj")};
    }
    return map;
}

}  // namespace

Result<Architecture> describe_llama4(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index, {.rope = {RopePairing::interleaved}});
    MixtureSpec mixture = read_mixture(
        reader, base.spec,
        {{"num_local_experts", kGgufExperts}, {"num_experts_per_tok", kGgufTopK}, {"intermediate_size", kGgufWidth}});
    mixture.router.policy.scoring = RouterScoring::sigmoid;
    mixture.experts.weight_at = WeightAt::input;
    mixture.experts.shared_width = mixture.experts.width;
    base.layer.ffn.width = reader.integer({"intermediate_size_mlp", "feed_forward_length"});
    reader.ignore({"moe_layers", "for_llm_compressor", "use_qk_norm"});
    MIXTURA_RETURN_IF_ERROR(reader.status());
    Architecture out;
    out.spec = std::move(base.spec);
    read_layers(reader, base, mixture, out.spec);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_map(index, out.spec, base.is_tied);
    for (LayerMap& layer : out.map.layers) layer.query_norm = layer.key_norm = {};  // norms without weights
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
