// Names inside \p{…} and [[:…:]]: what Oniguruma calls a set, as members of a PCRE2 bracket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mixtura {

// What stands between the brackets to match the property, e.g. "\\p{Lu}" or "\\p{sc:Han}".  Case, spaces, '_' and '-'
// in the name do not matter.  Nothing for a name that PCRE2 has no equal of.
std::optional<std::string> onig_property_members(std::string_view name);

// The same for the name of a POSIX bracket ("alpha"); only those that Oniguruma has.
std::optional<std::string> onig_posix_members(std::string_view name);

// What \w matches outside brackets: POSIX's "word", and ² ³ ¹ ¼ ½ ¾ (an oddity of Oniguruma's tables; inside brackets
// \w is POSIX's).
std::string onig_word_members();

}  // namespace mixtura
