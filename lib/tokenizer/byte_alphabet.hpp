// The byte alphabet of GPT-2: each of the 256 bytes as a printable character, which is how byte-level vocabularies
// spell their tokens.  Bytes 21-7E, A1-AC and AE-FF are themselves; the 68 others are U+0100 and up, in order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/utf8.hpp"

namespace mixtura {

constexpr bool is_printed_as_itself(unsigned byte) noexcept {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

inline constexpr std::array<char16_t, 256> kByteLetters = [] {
    std::array<char16_t, 256> letters{};
    char16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        letters[byte] = is_printed_as_itself(byte) ? static_cast<char16_t>(byte) : next++;
    }
    return letters;
}();

// The byte of each letter below U+0144; -1 for characters that are no letter of the alphabet.
inline constexpr std::array<std::int16_t, 0x144> kLetterBytes = [] {
    std::array<std::int16_t, 0x144> bytes{};
    for (auto& byte : bytes) byte = -1;
    for (unsigned byte = 0; byte < 256; ++byte) bytes[kByteLetters[byte]] = static_cast<std::int16_t>(byte);
    return bytes;
}();

inline void append_byte_letters(std::string& out, std::string_view bytes) {
    for (const char byte : bytes) append_utf8(out, kByteLetters[static_cast<unsigned char>(byte)]);
}

// The bytes that `spelling` (well-formed UTF-8) stands for, appended; false, and nothing appended, where a character of
// it is no letter.
inline bool append_letter_bytes(std::string& out, std::string_view spelling) {
    const std::size_t before = out.size();
    for (std::size_t i = 0; i < spelling.size();) {
        const CodePoint point = code_point_at(spelling, i);
        const int byte = point.value < kLetterBytes.size() ? kLetterBytes[point.value] : -1;
        if (byte < 0) {
            out.resize(before);
            return false;
        }
        out.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
        i += point.length;
    }
    return true;
}

}  // namespace mixtura
