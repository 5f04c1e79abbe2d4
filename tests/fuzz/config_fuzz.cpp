// JSON documents and both forms of config.json.  What the document holds equals what another parser reads; whatever
// parses, its canonical form parses again to the same text; and no document takes more than 4 × its text.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/model_config.hpp"

namespace {

using mixtura::JsonKind;
using Other = nlohmann::json;

bool is_equal(mixtura::JsonValue ours, const Other& other) {
    switch (ours.kind()) {
        case JsonKind::null: return other.is_null();
        case JsonKind::boolean: return other.is_boolean() && other.get<bool>() == ours.as_boolean();
        case JsonKind::integer: return other.is_number_integer() && other.get<std::int64_t>() == ours.as_integer();
        case JsonKind::real: return other.is_number() && other.get<double>() == ours.as_real();
        case JsonKind::string: return other.is_string() && other.get_ref<const std::string&>() == ours.as_string();
        case JsonKind::array: {
            if (!other.is_array() || other.size() != ours.size()) return false;
            auto next = other.begin();
            for (const mixtura::JsonValue element : ours.elements()) {
                if (!is_equal(element, *next++)) return false;
            }
            return true;
        }
        case JsonKind::object: break;
    }
    if (!other.is_object() || other.size() != ours.size()) return false;
    for (const auto [key, value] : ours.members()) {
        const auto found = other.find(std::string(key));
        if (found == other.end() || !is_equal(value, *found)) return false;
    }
    return true;
}

// Where this reader is the stricter one by intent.  The other takes a NUL byte for the end of the text.
bool is_stricter_by_intent(std::string_view message, std::string_view text) {
    return message.find("twice in one object") != message.npos || message.find("nests deeper") != message.npos ||
           message.find("a number longer than") != message.npos || text.find('\0') != text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto document = mixtura::JsonDocument::parse(text, "fuzz.json");
    const Other other = Other::parse(text.begin(), text.end(), nullptr, false);
    if (!document) {
        if (!other.is_discarded() && !is_stricter_by_intent(document.status().message(), text)) __builtin_trap();
        return 0;
    }
    if (other.is_discarded() || !is_equal(document->root(), other)) __builtin_trap();
    const std::string canonical = mixtura::canonical_json(document->root());
    const auto again = mixtura::JsonDocument::parse(canonical, "canonical");
    if (!again || mixtura::canonical_json(again->root()) != canonical) __builtin_trap();
    if (document->memory_bytes() > 4 * size + 64) __builtin_trap();
    (void)mixtura::hub_model_config(text, text, "fuzz");
    return 0;
}
