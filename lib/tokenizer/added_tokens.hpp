// Added tokens: spellings that are recognised in a text before the model sees it.  The rules are the tokenizers
// library's: the leftmost match, of those the longest; then the token's own wishes about what stands beside it.
#pragma once

#include <mixtura/types.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/byte_trie.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

struct AddedToken {
    TokenId id = -1;
    std::string content;
    std::string normalized_content;  // what matches where is_normalized
    bool is_single_word = false;     // only where no word character stands on either side
    bool strips_left = false;        // takes the white space before it along
    bool strips_right = false;       // … behind it
    bool is_normalized = false;      // matched in the normalised text
    bool is_special = false;
};

// A stretch of a text: an added token, or (id -1) what lies between.
struct TextPart {
    std::size_t begin = 0;
    std::size_t end = 0;
    TokenId id = -1;
};

class AddedTokenMatcher {
  public:
    AddedTokenMatcher() = default;
    // Takes those of `tokens` that are (not) normalised and, if asked for, special.  `tokens` must outlive the matcher.
    AddedTokenMatcher(const std::vector<AddedToken>& tokens, bool is_normalized, bool only_special);

    bool is_empty() const noexcept { return trie_.is_empty(); }

    // The parts of `text` in order; every byte is in one, but white space that two neighbours both strip may be in two,
    // as in the reference.  A match lies in trusted bytes, except for tokens of white space that untrusted text may
    // spell.
    void split(const Word& text, const std::vector<AddedToken>& tokens, std::vector<TextPart>& parts) const;

  private:
    ByteTrie trie_;                     // content → index into tokens
    std::vector<bool> is_plain_space_;  // by index: may come from untrusted text
    char only_first_ = '\0';            // the first byte of all of them, where they share one
    bool has_only_first_ = false;
};

// White space alone (or its sign, U+2581).
bool is_all_space(std::string_view text) noexcept;

}  // namespace mixtura
