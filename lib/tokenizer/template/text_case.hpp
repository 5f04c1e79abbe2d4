// Upper and lower case, and Python's questions about a text's characters.
#pragma once

#include "tokenizer/template/text.hpp"

namespace mixtura {

enum class JinjaCase : std::uint8_t {
    upper,
    lower,
    folded,
    swapped,
    capitalized,  // str.capitalize(): the first character in title case, the others lower
    title,        // str.title(): every run of letters so
    words,        // filter title: words are what white space and - ( { [ < part
};
bool change_jinja_case(JinjaRun& run, const JinjaValue& text, JinjaCase target, JinjaValue& out);

enum class JinjaCharacterTest : std::uint8_t {
    alphanumeric,
    alpha,
    ascii,
    decimal,
    digit,
    identifier,
    lower,
    numeric,
    printable,
    space,
    title,
    upper,
};
bool test_jinja_characters(JinjaRun& run, const JinjaValue& text, JinjaCharacterTest test, bool& result);

}  // namespace mixtura
