#include "tokenizer/json_parts.hpp"

#include <limits>

#include "base/error.hpp"
#include "tokenizer/json_walk.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {

Result<std::string_view> json_string(JsonValue object, std::string_view key, const std::string& where) {
    const std::optional<JsonValue> value = object.find(key);
    const std::optional<std::string_view> string = value ? value->as_string() : std::nullopt;
    if (!string) return error(StatusCode::corrupt_file, where, ": expected a text as \"", key, '"');
    return *string;
}

Result<bool> json_boolean(JsonValue object, std::string_view key, const std::string& where) {
    const std::optional<JsonValue> value = object.find(key);
    const std::optional<bool> boolean = value ? value->as_boolean() : std::nullopt;
    if (!boolean) return error(StatusCode::corrupt_file, where, ": expected true or false as \"", key, '"');
    return *boolean;
}

Result<bool> json_boolean_or(JsonValue object, std::string_view key, bool absent, const std::string& where) {
    const std::optional<JsonValue> value = object.find(key);
    if (!value || value->is_null()) return absent;
    return json_boolean(object, key, where);
}

Result<std::int64_t> json_integer(JsonValue object, std::string_view key, std::int64_t low, std::int64_t high,
                                  const std::string& where) {
    const std::optional<JsonValue> value = object.find(key);
    const std::optional<std::int64_t> integer = value ? value->as_integer() : std::nullopt;
    if (!integer || *integer < low || *integer > high) {
        return error(StatusCode::corrupt_file, where, ": expected a whole number from ", low, " to ", high, " as \"",
                     key, '"');
    }
    return *integer;
}

Status JsonComponent::unknown() const {
    return error(StatusCode::unsupported, place, ": the component ", quoted(type), " is not supported");
}

Result<JsonPattern> read_json_pattern(const JsonComponent& component) {
    const std::optional<JsonValue> pattern = component.value.find("pattern");
    for (const std::string_view form : {"String", "Regex"}) {
        const std::optional<JsonValue> value = pattern ? pattern->find(form) : std::nullopt;
        if (!value || !value->as_string()) continue;
        JsonPattern out;
        out.text = *value->as_string();
        out.is_regex = form == "Regex";
        if (out.text.empty()) return error(StatusCode::unsupported, component.where, ": the pattern is empty");
        return out;
    }
    return error(StatusCode::corrupt_file, component.where,
                 ": expected {\"String\": …} or {\"Regex\": …} as \"pattern\"");
}

namespace {

// TemplateProcessing: tokens, the text as {"Sequence": {"id": "A"}} exactly once, tokens.
Status read_template(const JsonComponent& component, JsonTemplate& around) {
    const std::string& where = component.where;
    const std::optional<JsonValue> single = component.value.find("single");
    const std::optional<JsonValue> tokens = component.value.find("special_tokens");
    if (!single || !single->is_array() || !tokens || !tokens->is_object()) {
        return error(StatusCode::corrupt_file, where,
                     ": expected a list as \"single\" and an object as \"special_tokens\"");
    }
    JsonTemplate own;
    bool has_text = false;
    for (const JsonValue piece : single->elements()) {
        if (const std::optional<JsonValue> sequence = piece.find("Sequence")) {
            MIXTURA_ASSIGN_OR_RETURN(const std::string_view id, json_string(*sequence, "id", where));
            if (has_text || id != "A") {
                return error(StatusCode::unsupported, where, ": \"single\" holds another text than $A, or $A twice");
            }
            has_text = true;
            continue;
        }
        const std::optional<JsonValue> special = piece.find("SpecialToken");
        if (!special)
            return error(StatusCode::corrupt_file, where, ": \"single\" holds neither Sequence nor SpecialToken");
        MIXTURA_ASSIGN_OR_RETURN(const std::string_view name, json_string(*special, "id", where));
        const std::optional<JsonValue> token = tokens->find(name);
        const std::optional<JsonValue> ids = token ? token->find("ids") : std::nullopt;
        if (!ids || !ids->is_array()) {
            return error(StatusCode::corrupt_file, where, ": \"special_tokens\" has no ids for ", quoted(name));
        }
        for (const JsonValue id : ids->elements()) {
            const std::optional<std::int64_t> value = id.as_integer();
            if (!value || *value < 0 || *value > std::numeric_limits<TokenId>::max()) {
                return error(StatusCode::corrupt_file, where, ": an id of ", quoted(name), " is no token id");
            }
            (has_text ? own.back : own.front).push_back(static_cast<TokenId>(*value));
        }
    }
    if (!has_text) return error(StatusCode::unsupported, where, ": \"single\" leaves the text out");
    // A template around a template.
    around.front.insert(around.front.begin(), own.front.begin(), own.front.end());
    around.back.insert(around.back.end(), own.back.begin(), own.back.end());
    return {};
}

}  // namespace

Status read_json_post_processor(JsonValue value, const std::string& where, JsonTemplate& around) {
    return for_each_component(value, where, "processors", [&](const JsonComponent& component) -> Status {
        if (component.type == "ByteLevel") return {};  // about offsets, which ids do not have
        if (component.type == "TemplateProcessing") return read_template(component, around);
        return component.unknown();
    });
}

Status read_json_decoder(JsonValue value, const std::string& where, DecodePlan& plan) {
    using Kind = DecodeStage::Kind;
    const auto read = [&](const JsonComponent& component) -> Status {
        DecodeStage stage;
        if (component.type == "ByteLevel") {
            stage.kind = Kind::byte_level;
        } else if (component.type == "ByteFallback") {
            stage.kind = Kind::byte_fallback;
        } else if (component.type == "Fuse") {
            stage.kind = Kind::fuse;
        } else if (component.type == "Replace") {
            stage.kind = Kind::replace;
            MIXTURA_ASSIGN_OR_RETURN(const JsonPattern pattern, read_json_pattern(component));
            MIXTURA_ASSIGN_OR_RETURN(stage.content, json_string(component.value, "content", component.where));
            stage.literal = pattern.text;
            if (pattern.is_regex) {
                MIXTURA_ASSIGN_OR_RETURN(stage.pattern, Regex::compile(pattern.text, component.where));
            }
        } else if (component.type == "Strip") {
            stage.kind = Kind::strip;
            MIXTURA_ASSIGN_OR_RETURN(stage.literal, read_json_character(component, "content"));
            MIXTURA_ASSIGN_OR_RETURN(const std::int64_t start,
                                     json_integer(component.value, "start", 0, 1000, component.where));
            MIXTURA_ASSIGN_OR_RETURN(const std::int64_t stop,
                                     json_integer(component.value, "stop", 0, 1000, component.where));
            stage.start = static_cast<std::size_t>(start);
            stage.stop = static_cast<std::size_t>(stop);
        } else if (component.type == "Metaspace") {
            stage.kind = Kind::meta_space;
            MIXTURA_ASSIGN_OR_RETURN(stage.literal, read_json_character(component, "replacement"));
            MIXTURA_ASSIGN_OR_RETURN(const PreTokenizeStage::Scheme scheme, read_json_prepend_scheme(component));
            stage.drops_first = scheme != PreTokenizeStage::Scheme::never;
        } else {
            return component.unknown();
        }
        plan.stages.push_back(std::move(stage));
        return {};
    };
    MIXTURA_RETURN_IF_ERROR(for_each_component(value, where, "decoders", read));
    return check_decode_plan(plan, where);
}

Result<std::string> read_json_character(const JsonComponent& component, std::string_view key) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string_view character, json_string(component.value, key, component.where));
    if (character.empty() || utf8_sequence_bytes(character) != character.size()) {
        return error(StatusCode::corrupt_file, component.where, ": expected one character as \"", key, "\", found ",
                     quoted(character));
    }
    return std::string(character);
}

Result<PreTokenizeStage::Scheme> read_json_prepend_scheme(const JsonComponent& component) {
    using Scheme = PreTokenizeStage::Scheme;
    Scheme scheme = Scheme::always;
    if (const std::optional<JsonValue> value = component.value.find("prepend_scheme"); value && !value->is_null()) {
        MIXTURA_ASSIGN_OR_RETURN(const std::string_view name,
                                 json_string(component.value, "prepend_scheme", component.where));
        if (name == "first") {
            scheme = Scheme::first;
        } else if (name == "never") {
            scheme = Scheme::never;
        } else if (name != "always") {
            return error(StatusCode::unsupported, component.where, ": the prepend_scheme ", quoted(name),
                         " is not supported");
        }
    }
    // The older spelling of the same; the two must not contradict each other.
    MIXTURA_ASSIGN_OR_RETURN(const bool adds,
                             json_boolean_or(component.value, "add_prefix_space", true, component.where));
    if (!adds && component.value.find("prepend_scheme") && scheme != Scheme::never) {
        return error(StatusCode::corrupt_file, component.where, ": add_prefix_space contradicts prepend_scheme");
    }
    return adds ? scheme : Scheme::never;
}

}  // namespace mixtura
