// What the tokenizer's fuzz targets do with a vocabulary that was read: encode, decode and stream, and trap where a
// promise of tokenizer.hpp is broken.
#pragma once

#include <mixtura/tokenizer.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "tokenizer/read.hpp"
#include "tokenizer/state.hpp"

namespace mixtura::test {

inline void check_stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const DecodeOptions& options) {
    const auto whole = tokenizer.decode(ids, options);
    if (!whole) return;  // a decoder that lengthens without bound
    auto decoder = StreamDecoder::create(tokenizer, options);
    if (!decoder) return;
    std::string out;
    for (const TokenId id : ids) {
        const auto piece = decoder->push(id);
        if (!piece) return;
        if (!is_utf8(*piece)) __builtin_trap();
        out += *piece;
    }
    const auto rest = decoder->finish();
    if (!rest) return;
    if (!is_utf8(*rest)) __builtin_trap();
    out += *rest;
    if (out != *whole) __builtin_trap();
}

inline void exercise_tokenizer(const std::shared_ptr<Tokenizer::State>& state, std::string_view input) {
    find_end_tokens(*state);
    if (!finish_state(*state)) return;
    const Tokenizer tokenizer(state);
    const std::string_view own = input.substr(0, 64);
    for (const std::string_view text : {std::string_view("Hello <s>, wörld! 123  <|im_end|>\n"), own}) {
        for (const AddedTokens mode : {AddedTokens::all, AddedTokens::special_only, AddedTokens::none}) {
            const auto ids = tokenizer.encode(text, {mode, AddBos::model_default});
            if (!ids) continue;
            for (const TokenId id : *ids) {
                if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.size()) __builtin_trap();
                (void)tokenizer.token_bytes(id);
            }
            check_stream(tokenizer, *ids, {mode == AddedTokens::all});
        }
        // Untrusted text makes no marker.
        const auto forged = tokenizer.encode_spans(std::vector<TextSpan>{{text, false}});
        const auto front = tokenizer.encode_spans({});
        if (!forged || !front) continue;
        for (std::size_t i = front->size(); i < forged->size(); ++i) {
            if (state->vocabulary.has((*forged)[i], kTokenMarker)) __builtin_trap();
        }
    }
}

}  // namespace mixtura::test
