// Values as text, as Python's str() and repr() show them, and their types' names.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/template/text.hpp"

namespace mixtura {

// str(value) with its origins: the parts of a text keep theirs, every other value is its own origin's.
bool append_jinja_text(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out);
bool jinja_to_text(JinjaRun& run, const JinjaValue& value, JinjaValue& out);
// repr(value)
bool append_jinja_repr(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out);

// Python's name of the type: "str", "NoneType".
std::string_view jinja_kind_name(JinjaKind kind);
std::string_view jinja_type_name(const JinjaValue& value);

// repr() of a float: the shortest digits that read back the same, always with a point or an exponent.
std::string python_real_text(double value);

}  // namespace mixtura
