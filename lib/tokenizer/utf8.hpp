// Code points in and out of UTF-8, for text that is known to be well-formed (callers check once, at the door).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace mixtura {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD
inline constexpr std::string_view kMetaSpace = "\xE2\x96\x81";             // U+2581, SentencePiece's sign for a space

// Length in bytes of the character that starts with `lead` in well-formed UTF-8.
constexpr std::size_t utf8_length(char lead) noexcept {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

struct CodePoint {
    char32_t value = 0;
    std::size_t length = 0;  // bytes
};

// The character at `at` of well-formed UTF-8; `at` is inside the text and on a boundary.
inline CodePoint code_point_at(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
    const std::size_t length = utf8_length(text[at]);
    switch (length) {
        case 1: return {byte(0), 1};
        case 2: return {(byte(0) & 0x1F) << 6 | (byte(1) & 0x3F), 2};
        case 3: return {(byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
        default: return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
    }
}

inline void append_utf8(std::string& out, char32_t value) {
    const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (value < 0x80) {
        push(value);
    } else if (value < 0x800) {
        push(0xC0 | value >> 6);
        push(0x80 | (value & 0x3F));
    } else if (value < 0x10000) {
        push(0xE0 | value >> 12);
        push(0x80 | (value >> 6 & 0x3F));
        push(0x80 | (value & 0x3F));
    } else {
        push(0xF0 | value >> 18);
        push(0x80 | (value >> 12 & 0x3F));
        push(0x80 | (value >> 6 & 0x3F));
        push(0x80 | (value & 0x3F));
    }
}

}  // namespace mixtura
