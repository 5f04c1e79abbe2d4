// SentencePiece's precompiled character map, which a vocabulary brings along: a double-array trie from byte sequences
// to their replacements.  The layout is Darts-clone's: an array of 32-bit units,
//   bits 0-7 and 31  label of the unit (bit 31 set: not a child)     bits 10-30, bit 9  offset to the children
//   bit 8            a value hangs below, in the unit at the offset: bits 0-30, where its replacement starts
// It comes from a file, so every step is checked against the array and every replacement against the text.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

class Charsmap {
  public:
    Charsmap() = default;
    // `blob`: size of the trie in bytes (u32, little-endian), the trie, the replacements, each ended by a NUL byte.  An
    // empty blob is the empty map.
    static Result<Charsmap> read(std::string_view blob, std::string_view where);

    struct Match {
        std::size_t length = 0;  // bytes of the text
        std::string_view replacement;
    };
    // The longest key that `text` starts with; SentencePiece's choice.
    std::optional<Match> longest_prefix(std::string_view text) const noexcept;
    // The shortest, up to a NUL byte; the tokenizers library's choice.
    std::optional<Match> shortest_prefix(std::string_view text) const noexcept;

    bool is_empty() const noexcept { return units_.empty(); }

  private:
    std::optional<Match> prefix(std::string_view text, bool is_longest) const noexcept;
    std::vector<std::uint32_t> units_;
    std::string replacements_;  // ends in a NUL byte
};

// RFC 4648 text to bytes; nothing where it is malformed.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace mixtura
