#include "formats/model_facts.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "formats/model_config.hpp"

namespace mixtura {
namespace {

struct Names {
    std::int64_t ModelFacts::*fact;
    std::initializer_list<std::string_view> hub;  // "outer.inner" for nested objects; the first that is there counts
    std::string_view gguf;                        // below "<architecture>."
};

// No size of a model comes near; what is above would only overflow later.
constexpr std::int64_t kSizeMax = std::int64_t{1} << 40;
// Token ids have 32 bits, so that no vocabulary holds more.
constexpr std::int64_t kVocabularyMax = std::numeric_limits<TokenId>::max();

std::int64_t size_max_of(std::int64_t ModelFacts::*fact) {
    return fact == &ModelFacts::vocabulary_size ? kVocabularyMax : kSizeMax;
}

// Synonyms of published families: GPT-2's n_*, Bloom's n_head, MPT and DBRX's nested configs, T5's num_* and d_*,
// Switch's num_selected_experts, Hunyuan's and ERNIE's moe_*, DeepSeek's n_*_experts, Llama 4's intermediate_size_mlp,
// and the free form's context_length.
const Names kNames[] = {
    {&ModelFacts::layer_count, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, "block_count"},
    {&ModelFacts::hidden_size, {"hidden_size", "n_embd", "d_model"}, "embedding_length"},
    {&ModelFacts::head_count, {"num_attention_heads", "n_head", "n_heads", "num_heads"}, "attention.head_count"},
    {&ModelFacts::kv_head_count,
     {"num_key_value_heads", "attn_config.kv_n_heads", "num_kv_heads"},
     "attention.head_count_kv"},
    {&ModelFacts::head_size, {"head_dim", "d_kv", "attention_head_dim", "kv_channels"}, "attention.key_length"},
    {&ModelFacts::ffn_size,
     {"intermediate_size_mlp", "intermediate_size", "n_inner", "d_ff", "ffn_config.ffn_hidden_size"},
     "feed_forward_length"},
    {&ModelFacts::expert_count,
     {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "ffn_config.moe_num_experts"},
     "expert_count"},
    {&ModelFacts::experts_per_token,
     {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "moe_top_k", "ffn_config.moe_top_k",
      "num_selected_experts"},
     "expert_used_count"},
    {&ModelFacts::shared_expert_count,
     {"n_shared_experts", "num_shared_expert", "num_shared_experts", "moe_num_shared_experts"},
     "expert_shared_count"},
    // Families without a width of its own for experts (Mixtral, OLMoE, Granite, Llama 4) mean them by the plain one.
    {&ModelFacts::expert_ffn_size,
     {"moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"},
     "expert_feed_forward_length"},
    {&ModelFacts::vocabulary_size, {"vocab_size"}, "vocab_size"},
    {&ModelFacts::context_tokens,
     {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "context_length"},
     "context_length"},
};

std::optional<JsonValue> find_path(JsonValue object, std::string_view path) {
    const std::size_t dot = path.find('.');
    const auto member = object.find(path.substr(0, dot));
    if (!member || dot == std::string_view::npos) return member;
    return find_path(*member, path.substr(dot + 1));
}

// A size, or the largest of a list of them (files that state one per layer or per group).
Result<std::int64_t> read_size(JsonValue value, std::string_view key, std::string_view file, std::int64_t size_max) {
    std::int64_t largest = 0;
    const auto consider = [&](JsonValue single) -> Status {
        const auto size = single.as_integer();
        if (!single.is_null() && (!size || *size < 0 || *size > size_max)) {
            return error(StatusCode::corrupt_file, quoted(file, 400), ": ", quoted(key), " is ",
                         quoted(canonical_json(single)), ", expected a whole number from 0 to ", size_max);
        }
        largest = std::max(largest, size.value_or(0));
        return {};
    };
    if (!value.is_array()) MIXTURA_RETURN_IF_ERROR(consider(value));
    for (const JsonValue element : value.elements()) MIXTURA_RETURN_IF_ERROR(consider(element));
    return largest;
}

// The free form (model_type "mixtura") describes each layer on its own: the largest of each size counts.
Status add_free_form(ModelFacts& facts, JsonValue layers, std::string_view file) {
    facts.layer_count = static_cast<std::int64_t>(layers.size());
    const auto raise = [&](std::int64_t& fact, JsonValue layer, std::string_view path) -> Status {
        const auto value = find_path(layer, path);
        if (!value) return {};
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t size, read_size(*value, path, file, kSizeMax));
        fact = std::max(fact, size);
        return {};
    };
    for (const JsonValue layer : layers.elements()) {
        MIXTURA_RETURN_IF_ERROR(raise(facts.head_count, layer, "attention.heads"));
        MIXTURA_RETURN_IF_ERROR(raise(facts.kv_head_count, layer, "attention.kv_heads"));
        MIXTURA_RETURN_IF_ERROR(raise(facts.head_size, layer, "attention.head_dim"));
        MIXTURA_RETURN_IF_ERROR(raise(facts.expert_count, layer, "ffn.experts"));
        MIXTURA_RETURN_IF_ERROR(raise(facts.experts_per_token, layer, "ffn.top_k"));
        const auto ffn = layer.find("ffn");
        const bool is_sparse = ffn && ffn->find("experts");
        MIXTURA_RETURN_IF_ERROR(raise(is_sparse ? facts.expert_ffn_size : facts.ffn_size, layer, "ffn.width"));
    }
    return {};
}

void fill_defaults(ModelFacts& facts) {
    if (facts.kv_head_count == 0) facts.kv_head_count = facts.head_count;
    if (facts.head_size == 0 && facts.head_count > 0) facts.head_size = facts.hidden_size / facts.head_count;
    if (facts.expert_ffn_size == 0) facts.expert_ffn_size = facts.ffn_size;
    if (facts.expert_count == 0) facts.expert_ffn_size = 0;
}

}  // namespace

Result<ModelFacts> model_facts(CheckpointFormat source, JsonValue values, std::string_view file) {
    ModelFacts facts;
    const auto text_at = [&](std::string_view key) {
        const auto value = values.find(key);
        return std::string(value ? value->as_string().value_or("") : "");
    };
    const bool is_gguf = source == CheckpointFormat::gguf;
    facts.architecture = text_at(is_gguf ? "general.architecture" : "model_type");
    facts.name = text_at(is_gguf ? "general.name" : "name");
    facts.declared_size = text_at("general.size_label");
    for (const Names& names : kNames) {
        if (is_gguf) {
            const std::string key = facts.architecture + "." + std::string(names.gguf);
            if (const auto value = values.find(key)) {
                MIXTURA_ASSIGN_OR_RETURN(facts.*names.fact, read_size(*value, key, file, size_max_of(names.fact)));
            }
            continue;
        }
        for (const std::string_view key : names.hub) {
            const auto value = find_path(values, key);
            if (!value || value->is_null()) continue;
            MIXTURA_ASSIGN_OR_RETURN(facts.*names.fact, read_size(*value, key, file, size_max_of(names.fact)));
            break;
        }
    }
    if (const auto heads = is_gguf ? values.find(facts.architecture + ".nextn_predict_layers") : std::nullopt) {
        // GGUF counts the heads that predict further tokens among its blocks; they stand behind the decoder's layers.
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t count, read_size(*heads, "nextn_predict_layers", file, kSizeMax));
        facts.layer_count = std::max<std::int64_t>(facts.layer_count - count, 0);
    }
    if (const auto layers = values.find("layers"); !is_gguf && layers && layers->is_array()) {
        MIXTURA_RETURN_IF_ERROR(add_free_form(facts, *layers, file));
    }
    fill_defaults(facts);
    return facts;
}

}  // namespace mixtura
