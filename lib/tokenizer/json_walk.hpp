// Walking the component tree of a tokenizer.json: "Sequence" nests, everything else is a leaf with a "type".
#pragma once

#include <mixtura/status.hpp>

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "formats/json.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace mixtura {

struct JsonComponent {
    JsonValue value;
    std::string_view type;
    std::string place;  // "FILE: pre_tokenizer[1]"
    std::string where;  // "FILE: pre_tokenizer[1] (Split)"

    Status unknown() const;
};

struct JsonPattern {
    std::string_view text;
    bool is_regex = false;
};
Result<JsonPattern> read_json_pattern(const JsonComponent& component);
Result<std::string> read_json_character(const JsonComponent& component, std::string_view key);
Result<PreTokenizeStage::Scheme> read_json_prepend_scheme(const JsonComponent& component);

// Calls each(component) for every leaf in order; a Sequence's members are under `members_key`.  null is no component.
// Nesting is bounded to 16 levels and a tree to 32 leaves; published files have 2 levels and under 10 leaves.
template <class Each>
Status for_each_component(JsonValue value, const std::string& where, std::string_view members_key, Each&& each,
                          int depth = 0, int* leaf_count = nullptr) {
    constexpr int kDepthMax = 16, kLeavesMax = 32;
    int own_count = 0;
    int& count = leaf_count != nullptr ? *leaf_count : own_count;
    if (value.is_null()) return {};
    const std::optional<JsonValue> type_value = value.find("type");
    const std::optional<std::string_view> type = type_value ? type_value->as_string() : std::nullopt;
    if (!type) return error(StatusCode::corrupt_file, where, ": expected an object with a \"type\"");
    if (*type != "Sequence") {
        if (++count > kLeavesMax) {
            return error(StatusCode::unsupported, where, ": more than ", kLeavesMax, " components");
        }
        return each(JsonComponent{value, *type, where, text(where, " (", quoted(*type), ')')});
    }
    if (depth >= kDepthMax) return error(StatusCode::unsupported, where, ": Sequences nest deeper than ", kDepthMax);
    const std::optional<JsonValue> members = value.find(members_key);
    if (!members || !members->is_array()) {
        return error(StatusCode::corrupt_file, where, ": expected a list as \"", members_key, '"');
    }
    std::size_t index = 0;
    for (const JsonValue member : members->elements()) {
        MIXTURA_RETURN_IF_ERROR(
            for_each_component(member, text(where, '[', index, ']'), members_key, each, depth + 1, &count));
        ++index;
    }
    return {};
}

}  // namespace mixtura
