// Text to ids: added tokens, normaliser, pre-tokenizer, model, in that order.  One Encoder for one call.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <vector>

#include "tokenizer/state.hpp"
#include "tokenizer/word_cache.hpp"

namespace mixtura {

class Encoder final : private WordSink {
  public:
    // `text_bytes` sizes the cache of words.
    Encoder(const Tokenizer::State& state, AddedTokens mode, std::size_t text_bytes);

    // Appends the ids of the whole of `text`, without anything around it.
    Status encode(const Word& text, std::vector<TokenId>& ids);

  private:
    Status take(const Word& word) override;
    Status encode_part(const Word& part, bool is_at_start);
    Status encode_valid(const Word& part, bool is_at_start);
    Status encode_sentencepiece(const Word& part, bool is_at_start);
    Status encode_cut(const Word& word);
    Status encode_word(const Word& word);
    Status run_model(const Word& word);
    bool makes_marker(std::size_t first_id) const;

    const Tokenizer::State& state_;
    const AddedTokenMatcher* raw_ = nullptr;  // null: none is recognised
    const AddedTokenMatcher* normalized_ = nullptr;
    std::vector<TokenId>* ids_ = nullptr;
    bool is_utf8_ = true;
    bool cuts_at_meta_space_ = false;
    WordCache cache_;
    PreTokenizer::Scratch pre_;
    RegexWorkspace regex_;
    BpeScratch bpe_;
    UnigramScratch unigram_;
    TracedText normalised_;
    std::vector<TextPart> raw_parts_, parts_;
};

}  // namespace mixtura
