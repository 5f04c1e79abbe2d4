// Byte pair encoding: a word's symbols, the best pair of neighbours merged until none is left.  One machine for the
// three dialects: byte-level (symbols are bytes), characters with listed merges, and SentencePiece (characters, any two
// neighbours whose joint spelling is a piece, the piece's score as rank).
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/hash.hpp"
#include "tokenizer/vocabulary.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

struct BpeOptions {
    bool has_byte_symbols = false;  // words are bytes; else well-formed UTF-8
    bool is_sentencepiece = false;  // what is unknown is known only after merging, as SentencePiece does it
    bool byte_fallback = false;     // unknown characters become "<0xE4>" tokens
    bool fuse_unk = false;          // a run of unknown characters is one unknown token
    bool ignore_merges = false;     // a word that is a token is that token
    TokenId unk = -1;               // -1: unknown characters are left out
};

// Memory that one call reuses for every word.
struct BpeScratch {
    struct Symbol {
        std::int32_t id;           // -1: unknown to merging
        std::uint32_t begin, end;  // bytes of the word
    };
    struct Candidate {
        std::uint32_t rank, at;
        std::int32_t symbol;
    };
    struct Link {
        std::int32_t previous, next;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::vector<Link> links;
    std::string spelling;
    std::unordered_map<std::int32_t, std::pair<std::int32_t, std::int32_t>> unused_parts;
};

class BpeModel {
  public:
    // One merge as the files list it, two spellings.
    struct MergePair {
        std::string_view left, right;
    };

    // `merges` in order of rank.  CORRUPT_FILE for one whose parts or result are no tokens.  `vocabulary` must outlive
    // the model and is spelled as the file does (byte-level: in the byte alphabet's letters).
    static Result<BpeModel> from_merges(const Vocabulary& vocabulary, const BpeOptions& options,
                                        std::span<const MergePair> merges, std::string_view where);
    // SentencePiece: `scores` by id.
    static Result<BpeModel> from_scores(const Vocabulary& vocabulary, const BpeOptions& options,
                                        std::span<const float> scores, std::string_view where);

    // Appends the ids of `word`.
    void encode(const Word& word, BpeScratch& scratch, std::vector<TokenId>& out) const;

    // True when no merge crosses from another character into U+2581, so that a text may be cut before each and the
    // parts encoded alone.
    bool splits_at_meta_space() const noexcept { return splits_at_meta_space_; }
    const BpeOptions& options() const noexcept { return options_; }

  private:
    explicit BpeModel(const Vocabulary& vocabulary, const BpeOptions& options)
        : vocabulary_(&vocabulary), options_(options) {}
    void find_symbols();
    bool is_allowed(std::int32_t symbol, const Word& word, std::size_t begin, std::size_t end) const noexcept;
    void start_symbols(const Word& word, BpeScratch& scratch) const;
    std::int32_t symbol_of(std::string_view character) const noexcept;
    const Merge* candidate(const Word& word, const BpeScratch::Symbol& left, const BpeScratch::Symbol& right,
                           BpeScratch& scratch) const;
    void merge_short(const Word& word, BpeScratch& scratch) const;
    void merge_long(const Word& word, BpeScratch& scratch) const;
    void write(const Word& word, BpeScratch& scratch, std::vector<TokenId>& out) const;

    const Vocabulary* vocabulary_;
    BpeOptions options_;
    PairTable merges_;
    std::array<std::int32_t, 256> byte_symbols_{};                // of bytes, or of ASCII characters
    std::array<std::int32_t, 256> byte_tokens_{};                 // "<0x00>" …; -1 where there is none
    std::unordered_map<std::string, std::int32_t> part_symbols_;  // characters of pieces that are no pieces themselves
    bool has_unused_ = false;
    bool splits_at_meta_space_ = false;
};

}  // namespace mixtura
