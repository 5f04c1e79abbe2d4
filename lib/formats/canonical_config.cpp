#include "formats/canonical_config.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "formats/model_config.hpp"

namespace mixtura {
namespace {

// Key to canonical JSON text of its value; ordered, so that the result does not hang on the file's order.
using Members = std::map<std::string, std::string, std::less<>>;

std::string object_text(const Members& members) {
    std::string out = "{";
    for (const auto& [key, value] : members) out += text(out.size() > 1 ? "," : "", json_quoted(key), ":", value);
    return out += '}';
}

// Keys that say who wrote the file.
constexpr std::array<std::string_view, 5> kWriterKeys{"transformers_version", "_name_or_path", "_commit_hash",
                                                      "auto_map", "torch_dtype"};
// Of a nested file's outer part, what belongs to the text model too.
constexpr std::array<std::string_view, 5> kOuterKeys{"tie_word_embeddings", "bos_token_id", "eos_token_id",
                                                     "pad_token_id", "quantization_config"};
// Written anew as rope_parameters and dtype.
constexpr std::array<std::string_view, 4> kRenewedKeys{"rope_theta", "rope_scaling", "rope_parameters", "dtype"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
}

// Families whose share of rotated dimensions is not 1 where the file states none; today's form writes it out.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRotaryShares{
    {{"glm4_moe", "0.5"}, {"qwen3_next", "0.25"}}};

bool is_present(std::optional<JsonValue> value) { return value && !value->is_null(); }

// Names of scaling kinds that were renamed on the way.
std::string_view rope_type_today(std::string_view type) { return type == "su" ? "longrope" : type; }

void add_rope_object(Members& rope, JsonValue object) {
    for (const auto [key, value] : object.members()) {
        if (key != "type" && key != "rope_type") rope.emplace(std::string(key), canonical_json(value));
    }
    for (const std::string_view key : {"rope_type", "type"}) {
        const auto type = object.find(key);
        if (type && type->as_string()) rope.emplace("rope_type", json_quoted(rope_type_today(*type->as_string())));
    }
}

// rope_parameters from wherever the file states it.  Files without any rope key (learned positions, ALiBi) get none.
std::optional<std::string> rope_parameters(JsonValue root) {
    const auto today = root.find("rope_parameters"), scaling = root.find("rope_scaling");
    const auto theta = root.find("rope_theta"), partial = root.find("partial_rotary_factor");
    if (!is_present(today) && !is_present(scaling) && !is_present(theta)) return std::nullopt;
    // One set per attention type ({"full_attention": {...}, …}) is kept as it stands.
    if (is_present(today) && today->is_object()) {
        for (const auto [key, value] : today->members()) {
            if (value.is_object()) return canonical_json(*today);
        }
    }
    Members rope;
    if (is_present(today)) add_rope_object(rope, *today);
    if (is_present(scaling)) add_rope_object(rope, *scaling);
    if (is_present(theta)) rope.emplace("rope_theta", canonical_json(*theta));
    if (is_present(partial)) rope.emplace("partial_rotary_factor", canonical_json(*partial));
    const auto family = root.find("model_type");
    for (const auto& [name, share] : kRotaryShares) {
        if (family && family->as_string() == name) rope.emplace("partial_rotary_factor", share);
    }
    rope.emplace("rope_type", "\"default\"");
    return object_text(rope);
}

std::optional<std::string> dtype_text(JsonValue root) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
        const auto value = root.find(key);
        if (!value || !value->as_string()) continue;
        std::string_view name = *value->as_string();
        constexpr std::string_view kPrefix = "torch.";
        if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
        return json_quoted(name);
    }
    return std::nullopt;
}

void add_members(Members& members, JsonValue object) {
    for (const auto [key, value] : object.members()) {
        if (is_in(kWriterKeys, key) || is_in(kRenewedKeys, key)) continue;
        members.emplace(std::string(key), canonical_json(value));
    }
    if (auto rope = rope_parameters(object)) members.emplace("rope_parameters", std::move(*rope));
    if (auto dtype = dtype_text(object)) members.emplace("dtype", std::move(*dtype));
}

}  // namespace

std::string canonical_json(JsonValue value) {
    switch (value.kind()) {
        case JsonKind::null: return "null";
        case JsonKind::boolean: return *value.as_boolean() ? "true" : "false";
        case JsonKind::integer:
        case JsonKind::real: {
            if (const auto integer = value.as_integer()) return text(*integer);
            return format_shortest(*value.as_real());
        }
        case JsonKind::string: return json_quoted(*value.as_string());
        case JsonKind::array: {
            std::string out = "[";
            for (const JsonValue element : value.elements()) {
                if (out.size() > 1) out += ',';
                out += canonical_json(element);  // depth is bounded by the document's
            }
            return out += ']';
        }
        case JsonKind::object: break;
    }
    Members members;
    for (const auto [key, member] : value.members()) members.emplace(std::string(key), canonical_json(member));
    return object_text(members);
}

std::string canonical_config(JsonValue root) {
    Members members;
    const auto nested = root.find("text_config");
    if (nested && nested->is_object() && !root.find("hidden_size")) {
        add_members(members, *nested);
        for (const auto [key, value] : root.members()) {
            if (is_in(kOuterKeys, key)) members.emplace(std::string(key), canonical_json(value));
        }
        if (auto dtype = dtype_text(root)) members.emplace("dtype", std::move(*dtype));
    } else {
        add_members(members, root);
    }
    return object_text(members);
}

}  // namespace mixtura
