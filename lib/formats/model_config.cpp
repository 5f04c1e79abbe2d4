#include "formats/model_config.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "formats/canonical_config.hpp"
#include "formats/file_kind.hpp"
#include "formats/model_facts.hpp"

namespace mixtura {
namespace {

Result<JsonDocument> parse_object(std::string_view text, std::string_view name) {
    MIXTURA_ASSIGN_OR_RETURN(JsonDocument document, parse_json_file(text, name));
    if (!document.root().is_object()) {
        return error(StatusCode::corrupt_file, quoted(name, 400), " is JSON, but no object");
    }
    return document;
}

// One id, a list of ids, or null.
Status add_token_ids(std::vector<TokenId>& ids, JsonValue value, std::string_view key, std::string_view file) {
    const auto add = [&](JsonValue single) -> Status {
        const auto id = single.as_integer();
        const auto fitting = id ? checked_cast<TokenId>(*id) : std::nullopt;
        if (!fitting || *fitting < 0) {
            return error(StatusCode::corrupt_file, quoted(file, 400), ": ", quoted(key), " holds ",
                         quoted(canonical_json(single)), ", expected token ids from 0 to ",
                         std::numeric_limits<TokenId>::max());
        }
        ids.push_back(*fitting);
        return {};
    };
    if (value.is_null()) return {};
    if (!value.is_array()) return add(value);
    for (const JsonValue element : value.elements()) MIXTURA_RETURN_IF_ERROR(add(element));
    return {};
}

void sort_unique(std::vector<TokenId>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

Result<GenerationDefaults> hub_generation(JsonValue config, std::optional<JsonValue> stated, std::string_view file) {
    GenerationDefaults defaults;
    std::vector<TokenId> bos;
    // generation_config.json wins over config.json, key by key.
    const auto find = [&](std::string_view key) {
        const auto value = stated ? stated->find(key) : std::nullopt;
        return value && !value->is_null() ? value : config.find(key);
    };
    if (const auto value = find("eos_token_id")) {
        MIXTURA_RETURN_IF_ERROR(add_token_ids(defaults.end_tokens, *value, "eos_token_id", file));
    }
    if (const auto value = find("bos_token_id"))
        MIXTURA_RETURN_IF_ERROR(add_token_ids(bos, *value, "bos_token_id", file));
    if (!bos.empty()) defaults.bos_token = bos[0];
    sort_unique(defaults.end_tokens);
    if (!stated) return defaults;
    const auto real = [&](std::string_view key) {
        const auto value = stated->find(key);
        return value ? value->as_real() : std::nullopt;
    };
    const auto integer = [&](std::string_view key) {
        const auto value = stated->find(key);
        return value ? value->as_integer() : std::nullopt;
    };
    if (const auto value = stated->find("do_sample")) defaults.do_sample = value->as_boolean();
    defaults.temperature = real("temperature");
    defaults.top_p = real("top_p");
    defaults.min_p = real("min_p");
    defaults.typical_p = real("typical_p");
    defaults.repetition_penalty = real("repetition_penalty");
    defaults.top_k = integer("top_k");
    defaults.max_new_tokens = integer("max_new_tokens");
    return defaults;
}

std::string scalar_text(const GgufValue& value) {
    if (const auto string = value.as_string()) return json_quoted(*string);
    if (const auto flag = value.as_boolean()) return *flag ? "true" : "false";
    if (const auto integer = value.as_integer()) return text(*integer);
    return format_shortest(value.as_real().value_or(0));
}

std::string element_text(const GgufValue& value, std::size_t index) {
    if (const auto string = value.string_at(index)) return json_quoted(*string);
    if (const auto flag = value.boolean_at(index)) return *flag ? "true" : "false";
    if (const auto integer = value.integer_at(index)) return text(*integer);
    return format_shortest(value.real_at(index).value_or(0));
}

bool is_finite_value(const GgufValue& value) {
    const auto is_finite = [](double real) { return real - real == 0; };
    if (!value.is_array()) return is_finite(value.as_real().value_or(0));
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (!is_finite(value.real_at(i).value_or(0))) return false;
    }
    return true;
}

}  // namespace

Result<ModelConfig> hub_model_config(std::string_view config, std::optional<std::string_view> generation,
                                     std::string_view folder) {
    const std::string config_name = text(folder, "/config.json"),
                      generation_name = text(folder, "/generation_config.json");
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument stated, parse_object(config, config_name));
    std::string canonical = canonical_config(stated.root());
    MIXTURA_ASSIGN_OR_RETURN(JsonDocument values, JsonDocument::parse(canonical, config_name));
    MIXTURA_ASSIGN_OR_RETURN(ModelFacts facts, model_facts(CheckpointFormat::safetensors, values.root(), config_name));
    std::optional<JsonDocument> stated_generation;
    if (generation) {
        MIXTURA_ASSIGN_OR_RETURN(stated_generation, parse_object(*generation, generation_name));
    }
    MIXTURA_ASSIGN_OR_RETURN(
        GenerationDefaults defaults,
        hub_generation(values.root(), stated_generation ? std::optional(stated_generation->root()) : std::nullopt,
                       generation ? generation_name : config_name));
    facts.end_tokens = defaults.end_tokens;
    return ModelConfig{CheckpointFormat::safetensors, std::move(canonical), std::move(values), std::move(facts),
                       std::move(defaults)};
}

Result<ModelConfig> gguf_model_config(const GgufHeader& header, std::string_view file) {
    // Per-layer lists have one entry a layer (4096 of 8 bytes are 32 KiB); what is much longer, a licence's text
    // included, is no part of a configuration, and a mebibyte of the rest is no honest one.
    constexpr std::size_t kListMax = 4096, kValueBytesMax = 32 << 10, kConfigBytesMax = 1 << 20;
    std::string canonical = "{";
    for (const GgufMetadataEntry& entry : header.metadata()) {
        const std::string_view key = entry.key;
        if (key.substr(0, 10) == "tokenizer." || key.substr(0, 6) == "split.") continue;
        if (entry.value.is_array() && (entry.value.size() > kListMax || entry.value.element_type() == GgufType::array))
            continue;
        if (entry.value.raw().size() > kValueBytesMax) continue;
        if (canonical.size() > kConfigBytesMax) {
            return error(StatusCode::corrupt_file, quoted(file, 400),
                         ": the metadata outside the vocabulary takes more than ", kConfigBytesMax, " bytes");
        }
        if (!is_finite_value(entry.value)) {
            return error(StatusCode::corrupt_file, quoted(file, 400), ": metadata key ", quoted(key),
                         " is infinite or not a number");
        }
        if (canonical.size() > 1) canonical += ',';
        canonical += text(json_quoted(key), ":");
        if (!entry.value.is_array()) {
            canonical += scalar_text(entry.value);
            continue;
        }
        for (std::size_t i = 0; i < entry.value.size(); ++i) {
            canonical += text(i == 0 ? "[" : ",", element_text(entry.value, i));
        }
        canonical += entry.value.size() == 0 ? "[]" : "]";
    }
    canonical += '}';
    MIXTURA_ASSIGN_OR_RETURN(JsonDocument values, JsonDocument::parse(canonical, file));
    MIXTURA_ASSIGN_OR_RETURN(ModelFacts facts, model_facts(CheckpointFormat::gguf, values.root(), file));
    GenerationDefaults defaults;
    for (const std::string_view key :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
        const GgufValue* value = header.find(key);
        const auto id = value == nullptr ? std::nullopt : checked_cast<TokenId>(*value->as_integer());
        if (id && *id >= 0) defaults.end_tokens.push_back(*id);
    }
    sort_unique(defaults.end_tokens);
    if (const GgufValue* value = header.find("tokenizer.ggml.bos_token_id")) {
        const auto id = checked_cast<TokenId>(*value->as_integer());
        if (id && *id >= 0) defaults.bos_token = id;  // some converters write -1 for none
    }
    facts.end_tokens = defaults.end_tokens;
    if (const GgufValue* tokens = header.find("tokenizer.ggml.tokens")) {
        facts.tokenizer_token_count = static_cast<std::int64_t>(tokens->size());
        if (facts.vocabulary_size == 0) facts.vocabulary_size = facts.tokenizer_token_count;
    }
    return ModelConfig{CheckpointFormat::gguf, std::move(canonical), std::move(values), std::move(facts),
                       std::move(defaults)};
}

}  // namespace mixtura
