// Unicode facts and normalisation forms, by utf8proc.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/traced_text.hpp"

namespace mixtura {

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

// Replaces the text by its normalisation form.  Work and memory grow with the text only.
Status normalize_form(UnicodeForm form, TracedText& text);

bool is_white_space(char32_t value) noexcept;     // property White_Space
bool is_combining_mark(char32_t value) noexcept;  // category M
bool is_word_character(char32_t value) noexcept;  // Rust regex's \w: Alphabetic, M, Nd, Pc, Join_Control
// The lower case of one character, which may be two characters (İ).
void append_lowercase(std::string& out, char32_t value);

// Bytes of the extended grapheme cluster that well-formed, non-empty `text` starts with.
std::size_t grapheme_bytes(std::string_view text) noexcept;

}  // namespace mixtura
