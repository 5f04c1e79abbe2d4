// SentencePiece's normaliser: its character map, the dummy space in front, squeezed white space, U+2581 for a space.
#pragma once

#include "tokenizer/byte_trie.hpp"
#include "tokenizer/charsmap.hpp"
#include "tokenizer/traced_text.hpp"
#include "tokenizer/vocabulary.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

struct SpmNormalizer {
    const Vocabulary* vocabulary = nullptr;  // outlives the normaliser
    Charsmap charsmap;
    ByteTrie user_defined;  // pieces that are taken as they are, to their ids
    bool adds_dummy_prefix = true;
    bool removes_extra_spaces = true;
    bool escapes_spaces = true;      // U+2581 for each
    bool puts_space_behind = false;  // the dummy space is a suffix

    // `text` normalised, appended to nothing: `out` is overwritten.  A byte that is no UTF-8 becomes U+FFFD.
    // `wants_prefix` false: no dummy space this time.
    // BUDGET_EXCEEDED where the character map makes far too much of it.
    Status apply(const Word& text, bool wants_prefix, TracedText& out) const;

    // The longest user-defined piece that stands at `at`, markers in trusted bytes alone; length 0: none.
    ByteTrie::Match user_defined_at(const Word& text, std::size_t at) const;

  private:
    struct Prefix {
        std::string_view replacement;
        std::size_t length;  // bytes of the text that it stands for
    };
    Prefix prefix_of(const Word& text, std::size_t at) const;
};

}  // namespace mixtura
