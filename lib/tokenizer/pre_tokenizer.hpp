// The pre-tokenizer: cuts a normalised text into the words that the model sees one at a time.  A list of stages; each
// cuts or rewrites a piece and hands the results on to the next at once, so a long text needs no list of its words.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/regex.hpp"
#include "tokenizer/traced_text.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

// What becomes of the matches of a pattern (the names are tokenizer.json's).
enum class SplitBehavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct PreTokenizeStage {
    enum class Kind : std::uint8_t {
        split,         // at the matches of pattern
        prefix_space,  // a space in front, unless there is one
        meta_space,    // each space as `content`; `content` in front as `scheme` says
        byte_letters,  // each byte as a letter of the byte alphabet
    };
    enum class Scheme : std::uint8_t { first, never, always };
    Kind kind = Kind::split;
    SplitBehavior behavior = SplitBehavior::isolated;
    bool inverts = false;  // matches and what lies between change places
    Scheme scheme = Scheme::always;
    std::string content;
    std::optional<Regex> pattern;
};

class WordSink {
  public:
    virtual Status take(const Word& word) = 0;

  protected:
    ~WordSink() = default;
};

class PreTokenizer {
  public:
    static constexpr std::size_t kStagesMax = 32;

    // Memory that one call reuses.
    struct Scratch {
        struct Piece {
            std::size_t begin, end;
            bool is_match;
        };
        struct Level {
            std::vector<Piece> pieces;
            TracedText text;
        };
        RegexWorkspace regex;
        std::vector<Level> levels;
    };

    std::vector<PreTokenizeStage> stages;

    // Hands the words of `text` to `sink` in order; the first Status that is not ok ends it.  `is_at_start`: the text's
    // first byte is the first of the whole input.
    Status run(const Word& text, bool is_at_start, Scratch& scratch, WordSink& sink) const;

  private:
    struct Call;
    Status run_from(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const;
    Status split(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const;
    Status rewrite(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const;
};

}  // namespace mixtura
