#include "model/arch/common.hpp"

#include <cmath>

#include "base/error.hpp"

namespace mixtura {

LlamaBase read_llama_base(ConfigReader& reader, const WeightIndex& index, const BaseOptions& options) {
    LlamaBase base;
    const ModelFacts& facts = reader.facts();
    ModelSpec& spec = base.spec;
    spec.architecture = facts.architecture;
    spec.hidden_size = reader.integer({"hidden_size", "embedding_length"});
    spec.vocabulary_size = facts.vocabulary_size;
    spec.context_tokens = reader.integer({"max_position_embeddings", "context_length"});
    base.epsilon = static_cast<float>(reader.real({"rms_norm_eps", "attention.layer_norm_rms_epsilon"}));
    spec.final_norm = {NormKind::rms, base.epsilon};
    reader.only({"hidden_act", ""}, {"\"silu\""});
    // Biases are there or not by their tensors; the flags only say so again.
    reader.ignore({"vocab_size", "attention_bias", "mlp_bias", "output_router_logits", "router_aux_loss_coef",
                   "router_jitter_noise", "layer_types"});

    LayerSpec& layer = base.layer;
    layer.attention_norm = layer.ffn_norm = {NormKind::rms, base.epsilon};
    AttentionSpec& attention = layer.attention;
    attention.query_heads = reader.integer({"num_attention_heads", "attention.head_count"});
    attention.kv_heads = reader.integer({"num_key_value_heads", "attention.head_count_kv"}, attention.query_heads);
    const std::int64_t shared = attention.query_heads > 0 ? spec.hidden_size / attention.query_heads : 0;
    attention.key_width = reader.integer({"head_dim", "attention.key_length"}, shared);
    if (options.head_width > 0) attention.key_width = options.head_width;
    attention.value_width = reader.integer({"", "attention.value_length"}, attention.key_width);
    attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.key_width));
    layer.ffn.width = reader.integer({"intermediate_size", "feed_forward_length"}, 0);

    std::int64_t rotated = attention.key_width;
    if (const auto share = reader.value({"rope_parameters.partial_rotary_factor", ""}); share && share->as_real()) {
        const double part = *share->as_real();
        rotated = part > 0 && part <= 1 ? static_cast<std::int64_t>(static_cast<double>(rotated) * part) : 0;
    }
    if (!options.rotated_width.hub.empty()) rotated = reader.integer({options.rotated_width.hub, ""}, rotated);
    rotated = reader.integer({"", "rope.dimension_count"}, rotated);
    spec.ropes.push_back(read_rope(reader, rotated, options.rope));
    read_gguf_rope_factors(reader, index, spec.ropes[0]);

    reader.ignore({"num_hidden_layers"});
    base.layer_count = facts.layer_count;
    base.is_tied = reader.boolean({"tie_word_embeddings", ""}, false);
    return base;
}

MixtureSpec read_mixture(ConfigReader& reader, const ModelSpec& spec, const MixtureKeys& keys) {
    MixtureSpec mixture;
    ExpertSpec& experts = mixture.experts;
    experts.hidden_size = spec.hidden_size;
    experts.expert_count = reader.integer(keys.expert_count);
    experts.width = reader.integer(keys.width);
    mixture.router.hidden_size = spec.hidden_size;
    mixture.router.expert_count = experts.expert_count;
    mixture.router.policy.top_k = reader.integer(keys.top_k);
    return mixture;
}

void read_gguf_scoring(ConfigReader& reader, RouterPolicy& policy) {
    if (!reader.is_gguf()) return;
    switch (reader.integer({"", "expert_gating_func"}, 0)) {
        case 0: return;  // not stated: the family's own
        case 1: policy.scoring = RouterScoring::softmax; return;
        case 2: policy.scoring = RouterScoring::sigmoid; return;
        case 3: policy.scoring = RouterScoring::softmax_of_chosen; return;
        default:
            reader.fail(error(StatusCode::unsupported, "the file's 'expert_gating_func' is ",
                              reader.integer({"", "expert_gating_func"}, 0),
                              ", expected 1 (softmax), 2 (sigmoid) or 3 (softmax of the chosen)"));
    }
}

void read_groups(ConfigReader& reader, RouterPolicy& policy, GroupScore score) {
    policy.group_count = reader.integer({"n_group", "expert_group_count"}, 1);
    policy.groups_kept = reader.integer({"topk_group", "expert_group_used_count"}, policy.group_count);
    policy.group_score = score;
}

std::string listed_word(ConfigReader& reader, std::string_view key, std::int64_t layer) {
    const auto list = reader.value({key, ""});
    std::int64_t at = 0;
    if (list && list->is_array()) {
        for (const JsonValue element : list->elements()) {
            if (at++ == layer) return std::string(element.as_string().value_or(""));
        }
    }
    return {};
}

void read_sigmoid_routing(ConfigReader& reader, RouterPolicy& policy) {
    policy.scoring = RouterScoring::sigmoid;
    policy.routed_scale = static_cast<float>(reader.real({"routed_scaling_factor", "expert_weights_scale"}, 1.0));
    policy.renormalise = reader.boolean({"norm_topk_prob", "expert_weights_norm"}, true);
    policy.renormalise_bias = 1e-20F;
    read_groups(reader, policy, GroupScore::sum_of_top_two);
}

Architecture complete_architecture(ConfigReader& reader, const WeightIndex& index, ModelSpec spec, bool is_tied,
                                   std::string_view block, const HubMixtureNames& parts) {
    Architecture out;
    out.spec = std::move(spec);
    out.map = reader.is_gguf() ? gguf_map(index, out.spec) : hub_llama_map(index, out.spec, is_tied);
    for (std::size_t l = 0; !reader.is_gguf() && l < out.map.layers.size(); ++l) {
        const auto& mixture = out.spec.layers[l].mixture;
        if (!mixture) continue;
        out.map.layers[l].mixture = hub_mixture({index}, text("model.layers.", l, ".", block, "."), *mixture, parts);
    }
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
