// Switch Transformer: T5's encoder and decoder with one expert a token in every second layer.
// Sources: Fedus et al. 2021 (arXiv 2101.03961); T5: Raffel et al. 2020 (arXiv 1910.10683); the owners' modeling file
// in transformers.
//
// Capacity: the owners' code lets an expert take expert_capacity tokens of a sequence in inference too; the others pass
// the layer by.  An encoder's layers do the same.  In the decoder it hangs on how the tokens come: with the cache of
// its past that generation has, a step is one token and nothing is ever dropped, and so it is here for every step.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kTrainedTokens = 512;  // in no configuration; 2.1 of the paper

// Stacks of blocks, "encoder." and "decoder."; a sparse one is every `step`-th.
struct Stack {
    std::string prefix;
    std::int64_t layers = 0, sparse_step = 0;
    bool is_encoder = false;

    bool is_sparse(std::int64_t layer) const noexcept {
        return sparse_step == 1 || (sparse_step > 0 && layer % sparse_step == 1);
    }
};

LayerMap map_layer(const WeightIndex& index, const Stack& stack, std::int64_t l, const LayerSpec& spec) {
    const TensorNames names{index};
    const std::string block = text(stack.prefix, "block.", l, ".layer."), own = block + "0.SelfAttention.";
    LayerMap layer;
    layer.attention_norm = names.norm(block + "0.layer_norm");
    layer.query = names.linear(own + "q");
    layer.key = names.linear(own + "k");
    layer.value = names.linear(own + "v");
    layer.output = names.linear(own + "o");
    layer.position_bias.tensor = stack.prefix + "block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    if (spec.cross) {
        const std::string cross = block + "1.EncDecAttention.";
        layer.cross = {names.norm(block + "1.layer_norm"), names.linear(cross + "q"), names.linear(cross + "k"),
                       names.linear(cross + "v"), names.linear(cross + "o")};
    }
    const std::string last = block + (spec.cross ? "2." : "1."), ffn = last + "mlp.";
    layer.ffn_norm = names.norm(last + "layer_norm");
    if (!spec.mixture) {
        layer.up = names.linear(ffn + "wi");
        layer.down = names.linear(ffn + "wo");
        return layer;
    }
    layer.mixture.router = names.linear(ffn + "router.classifier");
    layer.mixture.experts = map_experts(index, spec.mixture->experts.expert_count, [&](std::int64_t e) -> ExpertMap {
        const std::string expert = text(ffn, "experts.expert_", e, ".");
        return {{}, names.linear(expert + "wi"), names.linear(expert + "wo")};
    });
    return layer;
}

// A layer count as a family may build on: check_layer_count() saw the encoder's only.
std::int64_t read_layers(ConfigReader& reader, const WeightIndex& index, std::string_view key) {
    const std::int64_t layers = reader.integer({key, ""}, reader.facts().layer_count);
    const auto most = static_cast<std::int64_t>(index.tensors.size());
    if (layers >= 1 && layers <= std::min<std::int64_t>(most, 2048)) return layers;
    reader.fail(error(StatusCode::corrupt_file, "the configuration's ", quoted(key), " is ", layers,
                      ", expected 1 to 2048 and no more than the model has tensors (", most, ")"));
    return 0;
}

}  // namespace

Result<Architecture> describe_switch_transformers(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    Architecture out;
    ModelSpec& spec = out.spec;
    spec.architecture = config.facts.architecture;
    spec.hidden_size = reader.integer({"d_model", ""});
    spec.vocabulary_size = config.facts.vocabulary_size;
    spec.context_tokens = reader.integer({"n_positions", ""}, kTrainedTokens);
    spec.start_token =
        static_cast<TokenId>(reader.integer({"decoder_start_token_id", ""}, reader.integer({"pad_token_id", ""}, 0)));
    const NormSpec norm{NormKind::rms, static_cast<float>(reader.real({"layer_norm_epsilon", ""}, 1e-6))};
    spec.encoder_norm = spec.final_norm = norm;
    reader.only({"dense_act_fn", ""}, {"\"relu\""});
    reader.only({"feed_forward_proj", ""}, {"\"relu\""});
    reader.only({"is_gated_act", ""}, {"false"});
    reader.only({"router_dtype", ""}, {"\"float32\""});
    reader.only({"num_selected_experts", ""}, {"1"});
    reader.ignore({"vocab_size",
                   "dropout_rate",
                   "initializer_factor",
                   "router_aux_loss_coef",
                   "router_z_loss_coef",
                   "router_jitter_noise",
                   "router_ignore_padding_tokens",
                   "router_type",
                   "router_bias",
                   "add_router_probs",
                   "num_sparse_encoder_layers",
                   "num_sparse_decoder_layers",
                   "is_decoder",
                   "add_cross_attention",
                   "output_past",
                   "batch_prioritized_routing",
                   "second_expert_policy",
                   "normalize_router_prob_before_dropping",
                   "moe_eval_capacity_token_fraction",
                   "reorder_and_upcast_attn",
                   "model_max_length",
                   "output_router_logits"});

    LayerSpec layer;
    layer.attention_norm = layer.ffn_norm = norm;
    AttentionSpec& attention = layer.attention;
    attention.query_heads = attention.kv_heads = reader.integer({"num_heads", ""});
    attention.key_width = attention.value_width = reader.integer({"d_kv", ""});
    attention.scale = 1.0F;
    attention.position = PositionKind::relative_bias;
    attention.bias = {reader.integer({"relative_attention_num_buckets", ""}, 32),
                      reader.integer({"relative_attention_max_distance", ""}, 128)};
    layer.ffn.width = reader.integer({"d_ff", ""});
    layer.ffn.activation.kind = Activation::relu;
    layer.ffn.is_gated = false;
    MixtureSpec mixture;
    mixture.router.hidden_size = mixture.experts.hidden_size = spec.hidden_size;
    mixture.router.expert_count = mixture.experts.expert_count = reader.integer({"num_experts", ""});
    mixture.experts.width = layer.ffn.width;
    mixture.experts.activation = ExpertActivation::relu;
    mixture.experts.is_gated = false;
    const std::int64_t capacity = reader.integer({"expert_capacity", ""}, 64);
    if (capacity < 1) {
        reader.fail(error(StatusCode::unsupported, "the configuration's 'expert_capacity' is ", capacity,
                          ", expected at least 1"));
    }

    const Stack stacks[] = {
        {"encoder.", read_layers(reader, index, "num_layers"), reader.integer({"encoder_sparse_step", ""}, 2), true},
        {"decoder.", read_layers(reader, index, "num_decoder_layers"), reader.integer({"decoder_sparse_step", ""}, 2)}};
    const bool is_tied = reader.boolean({"tie_word_embeddings", ""}, true);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    // The owners scale what goes into a tied head.
    if (is_tied) spec.logit_divisor = std::sqrt(static_cast<float>(spec.hidden_size));
    spec.encoder_layers = stacks[0].layers;
    for (const Stack& stack : stacks) {
        for (std::int64_t l = 0; l < stack.layers; ++l) {
            LayerSpec& own = spec.layers.emplace_back(layer);
            own.attention.sees_both_ways = stack.is_encoder;
            if (!stack.is_encoder)
                own.cross =
                    CrossSpec{norm, attention.query_heads, attention.key_width, attention.value_width, attention.scale};
            if (stack.is_sparse(l)) {
                own.mixture = mixture;
                if (stack.is_encoder) own.mixture->sequence_capacity = capacity;
            }
            out.map.layers.push_back(map_layer(index, stack, l, own));
        }
    }
    out.map.token_embedding.tensor = "shared.weight";
    out.map.encoder_norm = TensorNames{index}.norm("encoder.final_layer_norm");
    out.map.final_norm = TensorNames{index}.norm("decoder.final_layer_norm");
    out.map.head = head_or_embedding(index, "lm_head.weight", out.map.token_embedding, is_tied);
    out.warnings = reader.unread_warnings();
    return out;
}

}  // namespace mixtura
