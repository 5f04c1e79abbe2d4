// Patterns of tokenizer.json and of GGUF's named pre-tokenizers are written in Oniguruma's syntax with Ruby's habits;
// the library here is PCRE2.  This translates the one into the other, construct by construct, so that the same text
// splits at the same places; what has no equal is refused by name.  What differs, and is translated:
//   \s and \w name other sets (U+180E; marks, letter numbers), so does \b · \h is a hexadecimal digit · \v is U+000B
//   {n,m}+ repeats the repeat instead of being possessive; {n}? makes it optional; {,m} starts at 0
//   (?m) is dot-matches-all; an option without a colon holds to the end of its group, across its alternatives
//   [a[bc]] is a union, [a&&b] an intersection · \p{Han} is the script, without PCRE2's script extensions
// What still differs, and why it may: PCRE2 10.42 knows Unicode 14, the reference's Oniguruma a later one, so
// characters assigned since then are unassigned here; and (?i) folds one character to one, so "ß" is not "ss".
#pragma once

#include <mixtura/status.hpp>

#include <string>
#include <string_view>

namespace mixtura {

// The same pattern for PCRE2 with the options UTF, UCP and MULTILINE and the newline LF.  `where` names the pattern's
// place in messages.  UNSUPPORTED for a construct without an equal, CORRUPT_FILE for a pattern that is none.
Result<std::string> translate_onig(std::string_view pattern, std::string_view where);

// The members of a bracket that matches what Oniguruma's \s matches.
inline constexpr std::string_view kSpaceMembers =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

}  // namespace mixtura
