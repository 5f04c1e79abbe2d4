#include "weights/quantisation.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <tuple>

#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kBlockMax = 1 << 24;

// One object of the configuration, read key by key; what nobody asked for is known in the end.
class Keys {
  public:
    Keys(JsonValue object, std::string path) : object_(object), path_(std::move(path)) {}

    std::optional<JsonValue> find(std::string_view key) {
        read_.emplace(key);
        const auto value = object_.find(key);
        return value && !value->is_null() ? value : std::nullopt;
    }
    template <class... Expected>
    Status refuse(StatusCode code, std::string_view key, const Expected&... expected) {
        const auto value = find(key);
        const std::string found = value ? canonical_json(*value) : "missing";
        return error(code, "the configuration's ", path_, key, " is ", quoted(found), ", expected ", expected...);
    }
    // Absent, or one of these in canonical form.
    Status only(std::string_view key, std::initializer_list<std::string_view> allowed) {
        const auto value = find(key);
        if (!value) return {};
        const std::string found = canonical_json(*value);
        if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return {};
        std::string names;
        for (const std::string_view name : allowed) names += text(names.empty() ? "" : " or ", name);
        return refuse(StatusCode::unsupported, key, names);
    }
    // There, and this.
    Status must_be(std::string_view key, std::string_view expected) {
        const auto value = find(key);
        if (value && canonical_json(*value) == expected) return {};
        return refuse(StatusCode::unsupported, key, expected);
    }
    void ignore(std::initializer_list<std::string_view> keys) {
        for (const std::string_view key : keys) read_.emplace(key);
    }
    // Two sizes, or nothing where the key is not there.
    Result<std::optional<std::pair<std::int64_t, std::int64_t>>> block(std::string_view key) {
        using Pair = std::optional<std::pair<std::int64_t, std::int64_t>>;
        const auto value = find(key);
        if (!value) return Pair();
        std::vector<std::int64_t> sizes;
        for (const JsonValue size : value->elements()) sizes.push_back(size.as_integer().value_or(0));
        const bool is_good = sizes.size() == 2 && std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) {
                                 return size >= 1 && size <= kBlockMax;
                             });
        if (!is_good) return refuse(StatusCode::corrupt_file, key, "two sizes of at least 1");
        return Pair(std::in_place, sizes[0], sizes[1]);
    }
    void warn(std::vector<std::string>& warnings) const {
        for (const auto [key, value] : object_.members()) {
            if (read_.find(key) == read_.end())
                warnings.push_back(text("the configuration's ", path_, key, " is not known and was ignored"));
        }
    }

  private:
    JsonValue object_;
    std::string path_;
    std::set<std::string, std::less<>> read_;
};

Status read_f8(Keys& keys, Quantisation& out) {
    out.method = QuantisationMethod::block_f8;
    MIXTURA_RETURN_IF_ERROR(keys.only("fmt", {"\"e4m3\""}));
    MIXTURA_ASSIGN_OR_RETURN(const auto block, keys.block("weight_block_size"));
    if (block) std::tie(out.block_rows, out.block_columns) = *block;
    return {};
}

// 8-bit floats with a scale a row; how activations are rounded there is nothing to us.
Status read_fbgemm(Keys& keys, Quantisation& out) {
    out.method = QuantisationMethod::block_f8;
    keys.ignore({"activation_scale_ub"});
    return {};
}

// Whose weights are described group by group, all in the same words.
Status read_compressed(Keys& keys, Quantisation& out) {
    out.method = QuantisationMethod::block_f8;
    MIXTURA_RETURN_IF_ERROR(keys.only("format", {"\"float-quantized\"", "\"naive-quantized\""}));
    MIXTURA_RETURN_IF_ERROR(keys.only("quantization_status", {"\"compressed\"", "\"frozen\""}));
    keys.ignore({"version", "global_compression_ratio", "sparsity_config", "transform_config", "kv_cache_scheme"});
    for (const std::string_view key : {"sparsity_config", "transform_config", "kv_cache_scheme"}) {
        const auto value = keys.find(key);
        if (value && value->size() > 0) return keys.refuse(StatusCode::unsupported, key, "none");
    }
    const auto groups = keys.find("config_groups");
    if (!groups || groups->size() == 0)
        return keys.refuse(StatusCode::corrupt_file, "config_groups", "at least one group");
    for (const auto [name, group] : groups->members()) {
        const auto weights = group.find("weights");
        if (!weights || !weights->is_object())
            return keys.refuse(StatusCode::corrupt_file, "config_groups", "weights in each group");
        Keys of_weights(*weights, text("quantization_config.config_groups.", name, ".weights."));
        MIXTURA_RETURN_IF_ERROR(of_weights.must_be("type", "\"float\""));
        MIXTURA_RETURN_IF_ERROR(of_weights.must_be("num_bits", "8"));
        MIXTURA_RETURN_IF_ERROR(of_weights.only("strategy", {"\"tensor\"", "\"channel\"", "\"block\""}));
        MIXTURA_RETURN_IF_ERROR(of_weights.only("symmetric", {"true"}));
        MIXTURA_RETURN_IF_ERROR(of_weights.only("dynamic", {"false"}));
        MIXTURA_ASSIGN_OR_RETURN(const auto block, of_weights.block("block_structure"));
        if (block) std::tie(out.block_rows, out.block_columns) = *block;
    }
    return {};
}

Status read_group_size(Keys& keys, std::string_view key, Quantisation& out) {
    const auto value = keys.find(key);
    const std::int64_t size = value ? value->as_integer().value_or(0) : 0;
    if (size != -1 && (size < 1 || size > kBlockMax))
        return keys.refuse(StatusCode::corrupt_file, key, "-1 or a number of inputs");
    out.group_size = size == -1 ? 0 : size;
    return {};
}

Status read_awq(Keys& keys, Quantisation& out) {
    out.method = QuantisationMethod::awq;
    const bool is_old = keys.find("w_bit").has_value();
    MIXTURA_RETURN_IF_ERROR(keys.must_be(is_old ? "w_bit" : "bits", "4"));
    MIXTURA_RETURN_IF_ERROR(read_group_size(keys, keys.find("q_group_size") ? "q_group_size" : "group_size", out));
    MIXTURA_RETURN_IF_ERROR(keys.only("version", {"\"gemm\"", "\"GEMM\""}));
    MIXTURA_RETURN_IF_ERROR(keys.only("zero_point", {"true"}));
    keys.ignore({"backend", "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "exllama_config"});
    return {};
}

Status read_gptq(Keys& keys, Quantisation& out) {
    out.method = QuantisationMethod::gptq;
    MIXTURA_RETURN_IF_ERROR(keys.must_be("bits", "4"));
    MIXTURA_RETURN_IF_ERROR(read_group_size(keys, "group_size", out));
    MIXTURA_RETURN_IF_ERROR(keys.only("checkpoint_format", {"\"gptq\"", "\"gptq_v2\""}));
    MIXTURA_RETURN_IF_ERROR(keys.only("is_marlin_format", {"false"}));
    MIXTURA_RETURN_IF_ERROR(keys.only("pack_dtype", {"\"int32\""}));
    const auto form = keys.find("checkpoint_format");
    out.zero_offset = form && form->as_string() == "gptq_v2" ? 0 : 1;
    MIXTURA_RETURN_IF_ERROR(keys.only("desc_act", {"true", "false"}));
    const auto by_activation = keys.find("desc_act");
    out.is_ordered = by_activation && by_activation->as_boolean().value_or(false) && out.group_size > 0;
    // The order itself is in the tensors, and so are the zero points of symmetric weights.
    keys.ignore({"sym",
                 "damp_percent",
                 "damp_auto_increment",
                 "static_groups",
                 "true_sequential",
                 "lm_head",
                 "model_name_or_path",
                 "model_file_base_name",
                 "quantizer",
                 "meta",
                 "dynamic",
                 "dataset",
                 "tokenizer",
                 "batch_size",
                 "block_name_to_quantize",
                 "module_name_preceding_first_block",
                 "modules_in_block_to_quantize",
                 "cache_block_outputs",
                 "use_exllama",
                 "use_cuda_fp16",
                 "exllama_config",
                 "max_input_length",
                 "model_seqlen",
                 "pad_token_id",
                 "disable_exllama",
                 "backend"});
    return {};
}

Status read_bitsandbytes(Keys& keys, Quantisation& out) {
    const auto in_8bit = keys.find("load_in_8bit");
    const bool is_8bit = in_8bit && in_8bit->as_boolean().value_or(false);
    out.method = is_8bit ? QuantisationMethod::bnb_8bit : QuantisationMethod::bnb_4bit;
    if (is_8bit) {
        MIXTURA_RETURN_IF_ERROR(keys.only("load_in_4bit", {"false"}));
        MIXTURA_RETURN_IF_ERROR(keys.only("llm_int8_has_fp16_weight", {"false"}));
        keys.ignore({"bnb_4bit_quant_type", "bnb_4bit_quant_storage"});
    } else {
        MIXTURA_RETURN_IF_ERROR(keys.must_be("load_in_4bit", "true"));
        MIXTURA_RETURN_IF_ERROR(keys.only("bnb_4bit_quant_type", {"\"nf4\"", "\"fp4\""}));
        MIXTURA_RETURN_IF_ERROR(keys.only("bnb_4bit_quant_storage", {"\"uint8\""}));
    }
    // Maps, blocks and nested scales are described beside each weight.
    keys.ignore({"_load_in_4bit", "_load_in_8bit", "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype",
                 "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight", "llm_int8_skip_modules",
                 "llm_int8_threshold"});
    return {};
}

}  // namespace

Result<Quantisation> read_quantisation(JsonValue quantization_config) {
    Quantisation out;
    if (quantization_config.is_null()) return out;
    Keys keys(quantization_config, "quantization_config.");
    const auto stated = keys.find("quant_method");
    const std::string_view method = stated ? stated->as_string().value_or("") : "";
    // Which modules were left alone and what rounds activations change no weight: the tensors tell the first, and
    // activations are not rounded to 8-bit floats here.
    keys.ignore({"modules_to_not_convert", "ignored_layers", "ignore", "activation_scheme", "scale_fmt", "dequantize"});
    Status status;
    if (method == "mxfp4") {
        out.method = QuantisationMethod::mxfp4;
    } else if (method == "fp8") {
        status = read_f8(keys, out);
    } else if (method == "fbgemm_fp8") {
        status = read_fbgemm(keys, out);
    } else if (method == "compressed-tensors") {
        status = read_compressed(keys, out);
    } else if (method == "awq") {
        status = read_awq(keys, out);
    } else if (method == "gptq") {
        status = read_gptq(keys, out);
    } else if (method == "bitsandbytes") {
        status = read_bitsandbytes(keys, out);
    } else {
        return keys.refuse(StatusCode::unsupported, "quant_method",
                           "awq, bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq or mxfp4");
    }
    MIXTURA_RETURN_IF_ERROR(std::move(status));
    keys.warn(out.warnings);
    return out;
}

}  // namespace mixtura
