// A JSON value written out again, to hand parts of a golden document to what takes JSON text.
#pragma once

#include <string>

#include "base/number.hpp"
#include "formats/json.hpp"

namespace mixtura::test {

inline std::string json_text(JsonValue value) {
    switch (value.kind()) {
        case JsonKind::null: return "null";
        case JsonKind::boolean: return *value.as_boolean() ? "true" : "false";
        case JsonKind::integer: return std::to_string(*value.as_integer());
        case JsonKind::real: {  // 1.0 must not come back as the integer 1
            std::string digits = format_shortest(*value.as_real());
            return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
        }
        case JsonKind::string: return json_quoted(*value.as_string());
        case JsonKind::array: {
            std::string out = "[";
            for (const JsonValue element : value.elements()) out += (out.size() > 1 ? "," : "") + json_text(element);
            return out + "]";
        }
        case JsonKind::object: break;
    }
    std::string out = "{";
    for (const auto [key, member] : value.members())
        out += (out.size() > 1 ? "," : "") + json_quoted(key) + ":" + json_text(member);
    return out + "}";
}

}  // namespace mixtura::test
