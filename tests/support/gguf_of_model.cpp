#include "support/gguf_of_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/arrays.hpp"
#include "support/files.hpp"

namespace mixtura::test {
namespace {

struct Pair {
    std::string_view hub, gguf;
};
constexpr Pair kArchitectures[] = {{"mixtral", "llama"},
                                   {"qwen2_moe", "qwen2moe"},
                                   {"phimoe", "phimoe"},
                                   {"deepseek_v2", "deepseek2"},
                                   {"gpt_oss", "gpt-oss"},
                                   {"ernie4_5_moe", "ernie4_5-moe"},
                                   {"hunyuan_v1_moe", "hunyuan-moe"},
                                   {"dbrx", "dbrx"},
                                   {"minimax_m2", "minimax-m2"},
                                   {"llama4_text", "llama4"},
                                   {"qwen3_next", "qwen3next"}};

// Names below "model.layers.3." and below "blk.3.", without what follows the last dot where that is weight or bias.
constexpr Pair kStems[] = {
    {"input_layernorm", "attn_norm"},
    {"norm_attn_norm.norm_1", "attn_norm"},
    {"norm_attn_norm.norm_2", "attn_output_norm"},
    {"norm_attn_norm.attn.Wqkv", "attn_qkv"},
    {"norm_attn_norm.attn.out_proj", "attn_output"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.query_layernorm", "attn_q_norm"},
    {"self_attn.key_layernorm", "attn_k_norm"},
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_a_layernorm", "attn_q_a_norm"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.gate.wg", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"feed_forward.router", "ffn_gate_inp"},
    {"ffn.router.layer", "ffn_gate_inp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
};
constexpr std::string_view kSharedExperts[] = {"mlp.shared_expert.", "mlp.shared_experts.", "mlp.shared_mlp.",
                                               "feed_forward.shared_expert."};
constexpr Pair kMatrices[] = {{"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"},
                              {"w1", "gate"},        {"w3", "up"},      {"w2", "down"}};

template <class Function>
Array mapped(const Array& array, Function function) {
    Array out = as_f32(array);
    for (std::size_t at = 0; at < out.bytes.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, out.bytes.data() + at, sizeof value);
        value = function(value);
        std::memcpy(out.bytes.data() + at, &value, sizeof value);
    }
    return out;
}

bool begins_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }
bool ends_with(std::string_view text, std::string_view tail) {
    return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

template <std::size_t N>
std::string_view looked_up(const Pair (&table)[N], std::string_view hub) {
    const auto* found = std::find_if(std::begin(table), std::end(table), [&](const Pair& p) { return p.hub == hub; });
    return found == std::end(table) ? std::string_view() : found->gguf;
}

class Conversion {
  public:
    Conversion(const std::string& folder, const GgufForm& form)
        : form_(form), config_(nlohmann::json::parse(read_file(folder + "/config.json"))), checkpoint_(open(folder)) {
        family_ = config_.at("model_type").get<std::string>();
        architecture_ = std::string(looked_up(kArchitectures, family_));
        if (architecture_.empty()) throw std::runtime_error("no GGUF form known of " + family_);
    }

    GgufFile run() {
        file_.add("general.architecture", architecture_);
        if (family_ == "dbrx")
            dbrx_keys();
        else
            common_keys();
        family_keys();
        for (const TensorInfo& tensor : checkpoint_.tensors()) convert(tensor.name);
        for (auto& [stem, matrices] : experts_) add(stem + ".weight", stacked(matrices));
        if (form_.has_joined_gate_and_up) join_gates_and_ups();
        return std::move(file_);
    }

  private:
    static Checkpoint open(const std::string& folder) {
        Result<Checkpoint> checkpoint = Checkpoint::open(folder);
        if (!checkpoint) throw std::runtime_error(std::string(checkpoint.status().message()));
        return *std::move(checkpoint);
    }

    // ---- metadata ------------------------------------------------------------------------------------------

    std::int64_t number(const char* key) const { return config_.at(key).get<std::int64_t>(); }
    template <class T>
    void key(const char* name, T value) {
        file_.add(architecture_ + "." + name, value);
    }
    void count(const char* name, std::int64_t value) { key(name, static_cast<std::uint32_t>(value)); }
    // A key of the configuration, where it is there and not null.
    void count_of(const char* name, std::initializer_list<const char*> keys) {
        for (const char* hub : keys) {
            if (!config_.contains(hub) || !config_.at(hub).is_number()) continue;
            count(name, number(hub));
            return;
        }
    }
    void real_of(const char* name, const nlohmann::json& from, const char* hub) {
        if (from.contains(hub) && from.at(hub).is_number()) key(name, from.at(hub).get<float>());
    }

    void common_keys() {
        count("vocab_size", number("vocab_size"));
        count("block_count", number("num_hidden_layers"));
        count("context_length", number("max_position_embeddings"));
        count("embedding_length", number("hidden_size"));
        count_of("feed_forward_length", {"intermediate_size_mlp", "intermediate_size"});
        count("attention.head_count", number("num_attention_heads"));
        if (family_ != "deepseek_v2") count("attention.head_count_kv", number("num_key_value_heads"));
        real_of("attention.layer_norm_rms_epsilon", config_, "rms_norm_eps");
        const nlohmann::json& rope = config_.at("rope_parameters");
        real_of("rope.freq_base", rope, "rope_theta");
        if (rope.at("rope_type") == "yarn") {
            key("rope.scaling.type", "yarn");
            real_of("rope.scaling.factor", rope, "factor");
            count("rope.scaling.original_context_length",
                  rope.at("original_max_position_embeddings").get<std::int64_t>());
            real_of("rope.scaling.yarn_beta_fast", rope, "beta_fast");
            real_of("rope.scaling.yarn_beta_slow", rope, "beta_slow");
        }
        if (family_ != "hunyuan_v1_moe") count_of("expert_used_count", {"num_experts_per_tok", "moe_k"});
        count_of("expert_count", {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
        count_of("expert_group_count", {"n_group"});
        count_of("expert_group_used_count", {"topk_group"});
        if (config_.contains("scoring_func")) count("expert_gating_func", config_["scoring_func"] == "sigmoid" ? 2 : 1);
        if (family_ == "deepseek_v2" || !config_.contains("head_dim") || config_["head_dim"].is_null()) return;
        count("attention.key_length", number("head_dim"));
        count("attention.value_length", number("head_dim"));
    }

    void family_keys() {
        if (family_ == "mixtral") {
            count("rope.dimension_count", number("hidden_size") / number("num_attention_heads"));
        } else if (family_ == "qwen2_moe") {
            count_of("expert_feed_forward_length", {"moe_intermediate_size"});
            count_of("expert_shared_feed_forward_length", {"shared_expert_intermediate_size"});
        } else if (family_ == "phimoe") {
            count("rope.dimension_count", number("hidden_size") / number("num_attention_heads"));
            count("attention.sliding_window", config_["sliding_window"].is_null() ? 0 : number("sliding_window"));
            longrope_keys();
        } else if (family_ == "gpt_oss") {
            count_of("attention.sliding_window", {"sliding_window"});
            count_of("expert_feed_forward_length", {"intermediate_size"});
        } else if (family_ == "minimax_m2") {
            // Published configurations say sigmoid and a rotary_dim; transformers 5 leaves out both.
            count("expert_gating_func", 2);
            count_of("expert_feed_forward_length", {"intermediate_size"});
            count_of("rope.dimension_count", {"rotary_dim", "head_dim"});
        } else if (family_ == "llama4_text") {
            count_of("interleave_moe_layer_step", {"interleave_moe_layer_step"});
            count_of("expert_feed_forward_length", {"intermediate_size"});
        } else if (family_ == "ernie4_5_moe") {
            count_of("interleave_moe_layer_step", {"moe_layer_interval"});
            count_of("leading_dense_block_count", {"moe_layer_start_index"});
            count_of("expert_feed_forward_length", {"moe_intermediate_size"});
            count_of("expert_shared_count", {"moe_num_shared_experts"});
            // The converter's own formula, right for published sizes only: 64 here, where the shared expert has 32.
            count("expert_shared_feed_forward_length", number("intermediate_size") / number("num_key_value_heads"));
        } else if (family_ == "hunyuan_v1_moe") {
            count("expert_used_count", config_.at("moe_topk").at(0).get<std::int64_t>());
            count_of("expert_feed_forward_length", {"intermediate_size"});
            count_of("expert_shared_feed_forward_length", {"intermediate_size"});
            count("expert_shared_count", 1);
        } else if (family_ == "qwen3_next") {
            count_of("expert_feed_forward_length", {"moe_intermediate_size"});
            count_of("expert_shared_feed_forward_length", {"shared_expert_intermediate_size"});
            count_of("ssm.conv_kernel", {"linear_conv_kernel_dim"});
            count_of("ssm.state_size", {"linear_key_head_dim"});
            count_of("ssm.group_count", {"linear_num_key_heads"});
            count_of("ssm.time_step_rank", {"linear_num_value_heads"});
            count("ssm.inner_size", number("linear_value_head_dim") * number("linear_num_value_heads"));
            count("full_attention_interval", 4);
            count("rope.dimension_count", number("head_dim") / 4);
        } else if (family_ == "deepseek_v2") {
            deepseek_keys();
        }
    }

    // One magnitude computed from the stretch, and the two sets of divisors as tensors.
    void longrope_keys() {
        const nlohmann::json& rope = config_.at("rope_parameters");
        if (rope.at("rope_type") != "longrope") return;
        const auto original = rope.at("original_max_position_embeddings").get<double>();
        const double stretch = static_cast<double>(number("max_position_embeddings")) / original;
        count("rope.scaling.original_context_length", static_cast<std::int64_t>(original));
        key("rope.scaling.attn_factor", static_cast<float>(std::sqrt(1.0 + std::log(stretch) / std::log(original))));
        for (const std::string length : {"long", "short"}) {
            const auto factors = rope.at(length + "_factor").get<std::vector<float>>();
            std::string bytes;
            for (const float factor : factors) bytes += bytes_of(factor);
            file_.tensor("rope_factors_" + length + ".weight", DType::f32, {static_cast<std::int64_t>(factors.size())},
                         bytes);
        }
    }

    void deepseek_keys() {
        count_of("leading_dense_block_count", {"first_k_dense_replace"});
        count_of("attention.q_lora_rank", {"q_lora_rank"});
        count_of("attention.kv_lora_rank", {"kv_lora_rank"});
        const std::int64_t rotated = number("qk_rope_head_dim"), own_key = number("qk_nope_head_dim") + rotated;
        if (form_.has_joined_latent_heads) {
            count("attention.head_count_kv", number("num_attention_heads"));
            count("attention.key_length", own_key);
            count_of("attention.value_length", {"v_head_dim"});
        } else {
            count("attention.head_count_kv", 1);
            count("attention.key_length", number("kv_lora_rank") + rotated);
            count_of("attention.value_length", {"kv_lora_rank"});
            count("attention.key_length_mla", own_key);
            count_of("attention.value_length_mla", {"v_head_dim"});
        }
        count_of("expert_feed_forward_length", {"moe_intermediate_size"});
        count_of("expert_shared_count", {"n_shared_experts"});
        real_of("expert_weights_scale", config_, "routed_scaling_factor");
        if (config_.at("norm_topk_prob").get<bool>()) key("expert_weights_norm", true);
        count("rope.dimension_count", rotated);
        const nlohmann::json& rope = config_.at("rope_parameters");
        if (rope.contains("mscale_all_dim"))
            key("rope.scaling.yarn_log_multiplier", 0.1F * rope.at("mscale_all_dim").get<float>());
    }

    void dbrx_keys() {
        const nlohmann::json &experts = config_.at("ffn_config"), &attention = config_.at("attn_config");
        const auto integer = [](const nlohmann::json& value) { return value.get<std::int64_t>(); };
        count("vocab_size", number("vocab_size"));
        count("block_count", number("n_layers"));
        count("context_length", number("max_seq_len"));
        count("embedding_length", number("d_model"));
        count("feed_forward_length", integer(experts.at("ffn_hidden_size")));
        count("attention.head_count", number("n_heads"));
        count("attention.head_count_kv", integer(attention.at("kv_n_heads")));
        real_of("rope.freq_base", attention, "rope_theta");
        real_of("attention.clamp_kqv", attention, "clip_qkv");
        count("expert_count", integer(experts.at("moe_num_experts")));
        count("expert_used_count", integer(experts.at("moe_top_k")));
        key("attention.layer_norm_epsilon", 1e-5F);
    }

    // ---- tensors -------------------------------------------------------------------------------------------

    // Vectors, routers and whatever is no weight are f32 in GGUF files; DBRX's converter keeps every matrix as it is.
    void add(const std::string& name, const Array& array) {
        const bool is_router = name.find("ffn_gate_inp") != std::string::npos && family_ != "dbrx";
        const bool is_wide = array.shape.size() < 2 || is_router || !ends_with(name, ".weight");
        const Array& stored = is_wide ? as_f32(array) : array;
        file_.tensor(name, stored.dtype, stored.shape, stored.bytes);
    }

    void convert(const std::string& name) {
        const Array array = array_of(checkpoint_, name);
        for (const auto& [hub, gguf] :
             {Pair{"model.embed_tokens", "token_embd"}, Pair{"model.norm", "output_norm"}, Pair{"lm_head", "output"},
              Pair{"transformer.wte", "token_embd"}, Pair{"transformer.norm_f", "output_norm"}}) {
            if (begins_with(name, std::string(hub) + "."))
                return add(std::string(gguf) + name.substr(hub.size()), hub == "model.norm" ? centred(array) : array);
        }
        const std::string_view prefix = family_ == "dbrx" ? "transformer.blocks." : "model.layers.";
        const std::size_t dot = name.find('.', prefix.size());
        if (!begins_with(name, prefix) || dot == std::string::npos) throw std::runtime_error("no place for " + name);
        const std::string block = "blk." + name.substr(prefix.size(), dot - prefix.size()) + ".";
        if (!convert_in_layer(block, std::string_view(name).substr(dot + 1), array))
            throw std::runtime_error("no place for " + name);
    }

    bool convert_in_layer(const std::string& block, std::string_view name, const Array& array) {
        if (name == "self_attn.kv_b_proj.weight") return convert_latent_heads(block, array), true;
        constexpr std::string_view kRecurrent = "linear_attn.";
        if (begins_with(name, kRecurrent)) return convert_recurrent(block, name.substr(kRecurrent.size()), array);
        if (name == "self_attn.sinks") return add(block + "attn_sinks.weight", array), true;
        if (ends_with(name, "e_score_correction_bias"))
            return add(block + "exp_probs_b.bias", reshaped(array, {array.shape.back()})), true;
        if (const std::size_t at = name.find("experts.");
            at != std::string_view::npos && !begins_with(name, "mlp.shared"))
            return convert_experts(block, name.substr(at + 8), array);
        const std::size_t dot = name.rfind('.');
        const std::string ending(name.substr(dot));
        std::string stem(looked_up(kStems, name.substr(0, dot)));
        // Where the layer has a norm behind the attention, or two in front of the feed-forward.
        if (name.substr(0, dot) == "post_attention_layernorm")
            stem = family_ == "gpt_oss" || family_ == "qwen3_next" ? "post_attention_norm" : "ffn_norm";
        for (const std::string_view shared : kSharedExperts) {
            if (!stem.empty() || !begins_with(name, shared)) continue;
            stem =
                "ffn_" + std::string(looked_up(kMatrices, name.substr(shared.size(), dot - shared.size()))) + "_shexp";
        }
        if (stem.empty()) return false;
        // The llama architecture rotates neighbouring pairs, so its queries and keys come in another order.
        if (family_ == "mixtral" && (stem == "attn_q" || stem == "attn_k")) {
            const char* heads = stem == "attn_q" ? "num_attention_heads" : "num_key_value_heads";
            return add(block + stem + ending, paired_heads(array, number(heads))), true;
        }
        // One row, stored without its axis.
        const bool is_one_row = stem == "ffn_gate_inp_shexp";
        if (ends_with(stem, "norm")) return add(block + stem + ending, centred(array)), true;
        return add(block + stem + ending, is_one_row ? reshaped(array, {array.shape.back()}) : array), true;
    }

    // Norms whose weights lie around 0 have the 1 added.
    Array centred(const Array& norm) const {
        return family_ == "qwen3_next" ? mapped(norm, [](float w) { return w + 1.0F; }) : norm;
    }

    // `name` is what follows "linear_attn.".
    bool convert_recurrent(const std::string& block, std::string_view name, const Array& array) {
        if (name == "A_log") return add(block + "ssm_a", mapped(array, [](float a) { return -std::exp(a); })), true;
        if (name == "dt_bias") return add(block + "ssm_dt.bias", array), true;
        if (name == "norm.weight") return add(block + "ssm_norm.weight", array), true;
        if (name == "out_proj.weight") return add(block + "ssm_out.weight", array), true;
        if (name == "in_proj_ba.weight") return add(block + "ssm_ba.weight", array), true;
        if (name == "conv1d.weight")
            return add(block + "ssm_conv1d.weight", as_f32(reshaped(array, {array.shape[0], array.shape[2]}))), true;
        if (name != "in_proj_qkvz.weight") return false;
        if (form_.has_owners_projection) return add(block + "ssm_in.weight", array), true;
        const std::int64_t heads = number("linear_num_key_heads"), hidden = number("hidden_size");
        const std::int64_t keys = number("linear_key_head_dim"),
                           values = number("linear_value_head_dim") * number("linear_num_value_heads") / heads;
        const Array by_head = reshaped(array, {heads, 2 * (keys + values), hidden});
        const auto part = [&](std::int64_t begin, std::int64_t count) {
            return reshaped(taken(by_head, 2, begin, count), {heads * count, hidden});
        };
        add(block + "attn_qkv.weight", joined(joined(part(0, keys), part(keys, keys)), part(2 * keys, values)));
        add(block + "attn_gate.weight", part(2 * keys + values, values));
        return true;
    }

    void convert_latent_heads(const std::string& block, const Array& array) {
        if (form_.has_joined_latent_heads) return add(block + "attn_kv_b.weight", array);
        const std::int64_t plain = number("qk_nope_head_dim"), value = number("v_head_dim");
        const Array heads = reshaped(array, {number("num_attention_heads"), plain + value, number("kv_lora_rank")});
        add(block + "attn_k_b.weight", swapped(taken(heads, 2, 0, plain)));
        add(block + "attn_v_b.weight", taken(heads, 2, plain, value));
    }

    // `name` is what follows "experts.".
    bool convert_experts(const std::string& block, std::string_view name, const Array& array) {
        std::size_t expert = 0;
        const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), expert);
        if (failure == std::errc() && *end == '.') {
            const auto at = static_cast<std::size_t>(end - name.data()) + 1;
            const std::string_view matrix = looked_up(kMatrices, name.substr(at, name.rfind('.') - at));
            if (matrix.empty()) return false;
            const std::string stem = block + "ffn_" + std::string(matrix);
            if (form_.has_one_tensor_an_expert)
                return add(stem + "." + std::to_string(expert) + ".weight", array), true;
            std::vector<Array>& matrices = experts_[stem + "_exps"];
            if (matrices.size() <= expert) matrices.resize(expert + 1);
            matrices[expert] = array;
            return true;
        }
        if (family_ == "dbrx") return convert_dbrx_experts(block, name, array);
        if (family_ == "gpt_oss") return convert_gpt_oss_experts(block, name, array);
        if (family_ != "llama4_text") return false;
        const std::int64_t width = number("intermediate_size");
        const Array rows = swapped(array);
        if (name == "down_proj") return add(block + "ffn_down_exps.weight", rows), true;
        if (name != "gate_up_proj") return false;
        add(block + "ffn_gate_exps.weight", taken(rows, 2, 0, width));
        add(block + "ffn_up_exps.weight", taken(rows, 2, width, width));
        return true;
    }

    bool convert_dbrx_experts(const std::string& block, std::string_view name, const Array& array) {
        const nlohmann::json& experts = config_.at("ffn_config");
        const Array each = reshaped(array, {experts.at("moe_num_experts").get<std::int64_t>(),
                                            experts.at("ffn_hidden_size").get<std::int64_t>(), number("d_model")});
        if (name == "mlp.w1") return add(block + "ffn_gate_exps.weight", each), true;
        if (name == "mlp.v1") return add(block + "ffn_up_exps.weight", each), true;
        if (name == "mlp.w2") return add(block + "ffn_down_exps.weight", swapped(each)), true;
        return false;
    }

    bool convert_gpt_oss_experts(const std::string& block, std::string_view name, const Array& array) {
        const std::int64_t width = number("intermediate_size");
        if (name == "down_proj_bias") return add(block + "ffn_down_exps.bias", array), true;
        if (name == "down_proj") return add(block + "ffn_down_exps.weight", swapped(array)), true;
        for (const std::int64_t part : {0, 1}) {
            const std::string stem = block + (part == 0 ? "ffn_gate_exps" : "ffn_up_exps");
            if (name == "gate_up_proj_bias") add(stem + ".bias", taken(array, 1, part, width, 2));
            if (name == "gate_up_proj") add(stem + ".weight", taken(swapped(array), 2, part, width, 2));
            if (name == "gate_up_proj_blocks") {
                const Array scales =
                    array_of(checkpoint_, "model.layers." + block.substr(4) + "mlp.experts.gate_up_proj_scales");
                add_mxfp4(stem + ".weight", taken(array, 3, part, width, 2), taken(scales, 2, part, width, 2));
            }
        }
        if (name == "down_proj_blocks") {
            add_mxfp4(block + "ffn_down_exps.weight", array,
                      array_of(checkpoint_, "model.layers." + block.substr(4) + "mlp.experts.down_proj_scales"));
        }
        return begins_with(name, "gate_up_proj") || begins_with(name, "down_proj");
    }

    // GGUF's blocks: the exponent, then 16 bytes with elements i and i + 16; in safetensors a byte has 2i and 2i + 1.
    void add_mxfp4(const std::string& name, const Array& blocks, const Array& scales) {
        std::string bytes;
        for (std::size_t block = 0; block < scales.bytes.size(); ++block) {
            const auto code = [&](std::size_t i) {
                const auto byte = static_cast<unsigned char>(blocks.bytes[block * 16 + i / 2]);
                return i % 2 == 0 ? byte & 15U : byte >> 4U;
            };
            bytes += scales.bytes[block];
            for (std::size_t i = 0; i < 16; ++i) bytes += static_cast<char>(code(i) | code(i + 16) << 4U);
        }
        file_.tensor(name, DType::mxfp4, {scales.shape[0], scales.shape[1], scales.shape[2] * 32}, bytes);
    }

    void join_gates_and_ups() {
        std::vector<GgufFile::Tensor> all = std::move(file_.tensors);
        file_.tensors.clear();
        for (const auto& [stem, matrices] : experts_) {
            if (!ends_with(stem, "ffn_gate_exps")) continue;
            const std::string block = stem.substr(0, stem.size() - std::string_view("ffn_gate_exps").size());
            add(block + "ffn_gate_up_exps.weight",
                joined(stacked(matrices), stacked(experts_.at(block + "ffn_up_exps"))));
        }
        for (GgufFile::Tensor& tensor : all) {
            if (!ends_with(tensor.name, "ffn_gate_exps.weight") && !ends_with(tensor.name, "ffn_up_exps.weight"))
                file_.tensors.push_back(std::move(tensor));
        }
    }

    GgufForm form_;
    nlohmann::json config_;
    Checkpoint checkpoint_;
    std::string family_, architecture_;
    GgufFile file_;
    std::map<std::string, std::vector<Array>> experts_;  // by "blk.3.ffn_gate_exps"
};

}  // namespace

GgufFile gguf_of_model(const std::string& folder, const GgufForm& form) { return Conversion(folder, form).run(); }

}  // namespace mixtura::test
