// Python's two ways to format: 'text' % values and 'text'.format(values), and how each shows one value.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {

// format % values
bool format_jinja_percent(JinjaRun& run, const JinjaValue& format, const JinjaValue& values, JinjaValue& out);
// format.format(arguments), fields looked up with the sandbox's rules
bool format_jinja_braces(JinjaRun& run, const JinjaValue& format, const JinjaArguments& arguments, JinjaValue& out);

// What a format specification asks for; Python's mini-language and the flags of % come down to this.
struct JinjaFormatSpec {
    std::string fill = " ";
    char align = '\0';  // < > ^ =, or 0 for the type's own
    char sign = '-';    // - + or space
    bool is_alternate = false;
    char grouping = '\0';  // , or _
    std::int64_t width = 0;
    std::int64_t precision = -1;  // below 0: none
    char type = '\0';
};
bool parse_jinja_format_spec(JinjaRun& run, std::string_view written, JinjaFormatSpec& spec);

// format(value, spec), appended.
bool append_jinja_formatted(JinjaRun& run, const JinjaValue& value, const JinjaFormatSpec& spec, JinjaTextBuilder& out);
// A number in the specification's type (d b o x X c, e f g %), appended.
bool append_jinja_number(JinjaRun& run, const JinjaValue& number, const JinjaFormatSpec& spec, JinjaTextBuilder& out);
bool append_jinja_padded(JinjaRun& run, const JinjaValue& text, const JinjaFormatSpec& spec, char own_align,
                         JinjaTextBuilder& out);

// Python's digits for a real: shortest, or `precision` of them in notation 'e', 'f', 'g' or, for the shortest look,
// '\0'.
std::string python_real_digits(double magnitude, char notation, std::int64_t precision);

}  // namespace mixtura
