// A SentencePiece vocabulary as plain values, whichever file it came from, and the Tokenizer::State made of it.
#pragma once

#include <mixtura/status.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/read.hpp"

namespace mixtura {

struct SentencePieceFacts {
    bool is_unigram = false;
    bool byte_fallback = false;
    bool adds_dummy_prefix = true;
    bool removes_extra_spaces = true;
    bool escapes_spaces = true;
    bool puts_space_behind = false;
    std::string_view charsmap;
    std::string unknown_surface = " \xE2\x81\x87 ";
    TokenId unk = -1;
    std::vector<float> scores;  // by id
};

// The flags of SentencePiece's piece types (1 normal … 6 byte), which GGUF shares; nothing for a number that is none.
std::optional<std::uint16_t> piece_flags(std::int64_t type) noexcept;

// Completes `state`, whose vocabulary is filled: normaliser, model, decoder, control pieces as added tokens.
Status build_sentencepiece(Tokenizer::State& state, const SentencePieceFacts& facts, const std::string& where);

}  // namespace mixtura
