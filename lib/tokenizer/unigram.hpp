// Unigram: of all ways to cut a word in pieces, the one whose scores add up highest (Viterbi).  Two references exist
// and round differently, so both arithmetics are here: SentencePiece sums in single precision along a whole text, the
// tokenizers library in double precision within a word.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/byte_trie.hpp"
#include "tokenizer/vocabulary.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

struct UnigramOptions {
    bool is_sentencepiece = false;  // whose arithmetic, and user-defined pieces win
    bool byte_fallback = false;
    TokenId unk = -1;  // -1: a word with an unknown character is refused
};

// Memory that one call reuses, and what one text carries from word to word.
struct UnigramScratch {
    struct Node {
        double score = 0;
        std::int32_t begin = -1;  // -1: nothing ends here yet
        TokenId id = -1;
    };
    struct Step {
        std::size_t begin, end;
        TokenId id;
    };
    std::vector<Node> nodes;
    std::vector<Step> path;  // the last step first
    // SentencePiece: score at the end of the last word.  The text is cut only where no piece crosses, so carrying the
    // sum on gives the same roundings as one pass over the whole text.
    float score_so_far = 0;
    bool is_after_unknown = false;
};

class UnigramModel {
  public:
    // `scores` by id; tokens of `vocabulary` that are control, unknown or byte tokens are no pieces.  CORRUPT_FILE.
    static Result<UnigramModel> create(const Vocabulary& vocabulary, const UnigramOptions& options,
                                       std::span<const double> scores, std::string_view where);

    // Appends the ids of `word`.  UNSUPPORTED where a character is unknown and there is no unknown token.
    Status encode(const Word& word, UnigramScratch& scratch, std::vector<TokenId>& out) const;

    bool splits_at_meta_space() const noexcept { return splits_at_meta_space_; }
    const UnigramOptions& options() const noexcept { return options_; }

  private:
    template <bool kIsSentencePiece>
    void find_path(const Word& word, UnigramScratch& scratch) const;
    void write_bytes_or_unknown(std::string_view characters, std::vector<TokenId>& out) const;

    const Vocabulary* vocabulary_ = nullptr;
    UnigramOptions options_;
    ByteTrie pieces_;
    std::vector<double> scores_;
    std::array<TokenId, 256> byte_tokens_{};
    double unknown_score_ = 0;
    float user_defined_score_ = 0;  // of a byte; see find_path
    bool splits_at_meta_space_ = false;
};

}  // namespace mixtura
