// Normalisers and pre-tokenizers of a tokenizer.json.  Every way to split is a pattern here: one search to get right
// and to bound.
#include <optional>

#include "base/error.hpp"
#include "tokenizer/json_parts.hpp"
#include "tokenizer/json_walk.hpp"

namespace mixtura {
namespace {

// "Whitespace" is written for Rust's regex crate, whose \w has the two joiners besides.
constexpr std::string_view kWhitespacePattern = "[[:word:]\\x{200c}\\x{200d}]+|[^[:word:]\\s\\x{200c}\\x{200d}]+";
constexpr std::string_view kPunctuationPattern = "[\\p{P}$+<=>^`|~]";

Status read_normalizer(const JsonComponent& component, Normalizer& normalizer) {
    using Kind = NormalizeStep::Kind;
    const JsonValue value = component.value;
    const std::string& where = component.where;
    NormalizeStep step;
    const auto unicode_form = [&](UnicodeForm form) {
        step.kind = Kind::unicode_form;
        step.form = form;
    };
    if (component.type == "NFC") {
        unicode_form(UnicodeForm::nfc);
    } else if (component.type == "NFD") {
        unicode_form(UnicodeForm::nfd);
    } else if (component.type == "NFKC") {
        unicode_form(UnicodeForm::nfkc);
    } else if (component.type == "NFKD") {
        unicode_form(UnicodeForm::nfkd);
    } else if (component.type == "Lowercase") {
        step.kind = Kind::lowercase;
    } else if (component.type == "StripAccents") {
        step.kind = Kind::strip_accents;
    } else if (component.type == "Nmt") {
        step.kind = Kind::nmt;
    } else if (component.type == "ByteLevel") {
        step.kind = Kind::byte_letters;
    } else if (component.type == "Strip") {
        step.kind = Kind::strip;
        MIXTURA_ASSIGN_OR_RETURN(step.strips_left, json_boolean(value, "strip_left", where));
        MIXTURA_ASSIGN_OR_RETURN(step.strips_right, json_boolean(value, "strip_right", where));
    } else if (component.type == "Prepend") {
        step.kind = Kind::prepend;
        MIXTURA_ASSIGN_OR_RETURN(step.content, json_string(value, "prepend", where));
    } else if (component.type == "Replace") {
        step.kind = Kind::replace;
        MIXTURA_ASSIGN_OR_RETURN(const JsonPattern pattern, read_json_pattern(component));
        MIXTURA_ASSIGN_OR_RETURN(step.content, json_string(value, "content", where));
        step.literal = pattern.text;
        if (pattern.is_regex) {
            MIXTURA_ASSIGN_OR_RETURN(step.pattern, Regex::compile(pattern.text, where));
        }
    } else if (component.type == "Precompiled") {
        step.kind = Kind::precompiled;
        const std::optional<JsonValue> map = value.find("precompiled_charsmap");
        if (map && map->is_null()) return {};
        MIXTURA_ASSIGN_OR_RETURN(const std::string_view encoded, json_string(value, "precompiled_charsmap", where));
        const std::optional<std::string> blob = decode_base64(encoded);
        if (!blob) return error(StatusCode::corrupt_file, where, ": the character map is not base64");
        MIXTURA_ASSIGN_OR_RETURN(Charsmap charsmap, Charsmap::read(*blob, where));
        step.charsmap = std::make_shared<const Charsmap>(std::move(charsmap));
    } else {
        return component.unknown();
    }
    normalizer.steps.push_back(std::move(step));
    return {};
}

Result<SplitBehavior> read_behavior(const JsonComponent& component) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string_view name, json_string(component.value, "behavior", component.where));
    if (name == "Removed") return SplitBehavior::removed;
    if (name == "Isolated") return SplitBehavior::isolated;
    if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
    if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
    if (name == "Contiguous") return SplitBehavior::contiguous;
    return error(StatusCode::unsupported, component.where, ": the behavior ", quoted(name), " is not supported");
}

class PreTokenizerReader {
  public:
    PreTokenizerReader(const JsonComponent& component, PreTokenizer& out) : component_(component), out_(out) {}

    Status read() {
        const std::string_view type = component_.type;
        if (type == "Split") return read_split();
        if (type == "ByteLevel") return read_byte_level();
        if (type == "Metaspace") return read_meta_space();
        if (type == "Digits") {
            MIXTURA_ASSIGN_OR_RETURN(const bool individual,
                                     json_boolean_or(component_.value, "individual_digits", false, component_.where));
            return split("\\p{N}", individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
        }
        if (type == "Punctuation") {
            SplitBehavior behavior = SplitBehavior::isolated;
            if (component_.value.find("behavior")) {
                MIXTURA_ASSIGN_OR_RETURN(behavior, read_behavior(component_));
            }
            return split(kPunctuationPattern, behavior);
        }
        if (type == "Whitespace") return split(kWhitespacePattern, SplitBehavior::removed, true);
        if (type == "WhitespaceSplit") return split("\\s", SplitBehavior::removed);
        if (type == "BertPreTokenizer") {
            MIXTURA_RETURN_IF_ERROR(split("\\s", SplitBehavior::removed));
            return split(kPunctuationPattern, SplitBehavior::isolated);
        }
        if (type == "CharDelimiterSplit") {
            MIXTURA_ASSIGN_OR_RETURN(const std::string delimiter, read_json_character(component_, "delimiter"));
            return split_literal(delimiter, SplitBehavior::removed, false);
        }
        return component_.unknown();
    }

  private:
    Status push(PreTokenizeStage stage) {
        if (out_.stages.size() >= PreTokenizer::kStagesMax) {
            return error(StatusCode::unsupported, component_.where, ": more than ", PreTokenizer::kStagesMax,
                         " stages");
        }
        out_.stages.push_back(std::move(stage));
        return {};
    }
    Status split(std::string_view pattern, SplitBehavior behavior, bool inverts = false) {
        PreTokenizeStage stage;
        stage.behavior = behavior;
        stage.inverts = inverts;
        MIXTURA_ASSIGN_OR_RETURN(stage.pattern, Regex::compile(pattern, component_.where));
        return push(std::move(stage));
    }
    Status split_literal(std::string_view literal, SplitBehavior behavior, bool inverts) {
        PreTokenizeStage stage;
        stage.behavior = behavior;
        stage.inverts = inverts;
        MIXTURA_ASSIGN_OR_RETURN(stage.pattern, Regex::compile_literal(literal, component_.where));
        return push(std::move(stage));
    }
    Status read_split() {
        MIXTURA_ASSIGN_OR_RETURN(const JsonPattern pattern, read_json_pattern(component_));
        MIXTURA_ASSIGN_OR_RETURN(const SplitBehavior behavior, read_behavior(component_));
        MIXTURA_ASSIGN_OR_RETURN(const bool inverts,
                                 json_boolean_or(component_.value, "invert", false, component_.where));
        return pattern.is_regex ? split(pattern.text, behavior, inverts)
                                : split_literal(pattern.text, behavior, inverts);
    }
    Status read_byte_level() {
        MIXTURA_ASSIGN_OR_RETURN(const bool prefixes,
                                 json_boolean_or(component_.value, "add_prefix_space", true, component_.where));
        MIXTURA_ASSIGN_OR_RETURN(const bool uses_regex,
                                 json_boolean_or(component_.value, "use_regex", true, component_.where));
        PreTokenizeStage stage;
        if (prefixes) {
            stage.kind = PreTokenizeStage::Kind::prefix_space;
            MIXTURA_RETURN_IF_ERROR(push(stage));
        }
        if (uses_regex) MIXTURA_RETURN_IF_ERROR(split(kGpt2Pattern, SplitBehavior::isolated));
        stage.kind = PreTokenizeStage::Kind::byte_letters;
        return push(std::move(stage));
    }
    Status read_meta_space() {
        PreTokenizeStage stage;
        stage.kind = PreTokenizeStage::Kind::meta_space;
        MIXTURA_ASSIGN_OR_RETURN(stage.content, read_json_character(component_, "replacement"));
        MIXTURA_ASSIGN_OR_RETURN(stage.scheme, read_json_prepend_scheme(component_));
        MIXTURA_ASSIGN_OR_RETURN(const bool splits, json_boolean_or(component_.value, "split", true, component_.where));
        const std::string content = stage.content;
        MIXTURA_RETURN_IF_ERROR(push(std::move(stage)));
        return splits ? split_literal(content, SplitBehavior::merged_with_next, false) : Status();
    }

    const JsonComponent& component_;
    PreTokenizer& out_;
};

}  // namespace

Status read_json_normalizer(JsonValue value, const std::string& where, Normalizer& normalizer) {
    return for_each_component(value, where, "normalizers",
                              [&](const JsonComponent& component) { return read_normalizer(component, normalizer); });
}

Status read_json_pre_tokenizer(JsonValue value, const std::string& where, PreTokenizer& pre_tokenizer) {
    return for_each_component(value, where, "pretokenizers", [&](const JsonComponent& component) {
        return PreTokenizerReader(component, pre_tokenizer).read();
    });
}

}  // namespace mixtura
