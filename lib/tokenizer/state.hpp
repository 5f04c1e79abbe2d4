// What a Tokenizer is made of.  Filled by one of the three readers (tokenizer_json, sentencepiece_model,
// gguf_vocabulary), completed by finish_state, then shared and never changed.
#pragma once

#include <mixtura/tokenizer.hpp>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/decode.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/spm_normalizer.hpp"
#include "tokenizer/unigram.hpp"
#include "tokenizer/vocabulary.hpp"

namespace mixtura {

struct Tokenizer::State {
    std::string kind, source;
    Vocabulary vocabulary;  // the models below point at it, so a State never moves
    std::vector<AddedToken> added;
    std::unordered_map<TokenId, std::size_t> added_index;  // id → index into added

    // Text to words.  SentencePiece vocabularies have spm, the others normalizer and pre_tokenizer.
    std::optional<SpmNormalizer> spm;
    Normalizer normalizer;
    PreTokenizer pre_tokenizer;
    bool prefixes_every_part = true;  // spm: the dummy space also behind an added token (the "legacy" behaviour)

    // Words to ids: one of the two.
    std::optional<BpeModel> bpe;
    std::optional<UnigramModel> unigram;

    // Around a text, under AddBos::model_default.
    std::vector<TokenId> front, back;

    DecodePlan decode;
    SpecialTokens special;
    std::vector<TokenId> end_tokens;

    // Made by finish_state.
    AddedTokenMatcher all_raw, all_normalized, special_raw, special_normalized;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

// Derives what follows from the rest: flags of added tokens, markers, matchers.  `added` is complete.
Status finish_state(Tokenizer::State& state);

}  // namespace mixtura
