// Character classes of Oniguruma's syntax for PCRE2, and the pieces that class and pattern share (onig_syntax.cpp).
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace mixtura {

// The pattern and the byte its translation has come to.
struct PatternCursor {
    std::string_view pattern;
    std::size_t at = 0;
    std::string_view where;  // the pattern's place, for messages

    bool at_end() const { return at >= pattern.size(); }
    char peek() const { return pattern[at]; }
    Status fail(StatusCode code, std::string_view what) const;
};

// A set as members of a bracket, or the complement of one.
struct BracketItem {
    std::string members;
    bool is_negated = false;
};

// The bracket whose '[' was just read, to its ']': an expression for one character.
Result<std::string> translate_bracket(PatternCursor& cursor);

// \p{…} or \P{…} at the cursor.
Result<BracketItem> read_property(PatternCursor& cursor);

// \n, \x{41}, \u0041, \. … at the cursor: the one character that it stands for.
Result<char32_t> read_escaped_literal(PatternCursor& cursor);

// `value` so that it means itself, inside brackets and outside.
void append_pattern_literal(std::string& out, char32_t value);

}  // namespace mixtura
