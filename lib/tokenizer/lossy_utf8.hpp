// Bytes to UTF-8 where broken sequences become U+FFFD: one for each maximal broken part, as the Unicode Standard
// advises (3.9, U+FFFD substitution) and Rust's from_utf8_lossy does it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mixtura {

// How many bytes of `bytes` are the start of a well-formed sequence that more bytes could complete; 0 when none could.
std::size_t incomplete_prefix_bytes(std::string_view bytes) noexcept;

// Appends `held` as UTF-8 to `out` and removes what it appended; an incomplete last sequence stays in `held`.
void take_whole_utf8(std::string& held, std::string& out);
// The same at the end of the text: the incomplete rest becomes one U+FFFD.
void take_all_utf8(std::string& held, std::string& out);

}  // namespace mixtura
