// Characters that the installed PCRE2 may be too old to know, by general category.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mixtura {

// Appends to `members`, the inside of a PCRE2 bracket, the characters of `category` ("L", "Lu", "S" …) that were
// assigned after Unicode 14.
void append_unicode_additions(std::string_view category, std::string& members);

}  // namespace mixtura
