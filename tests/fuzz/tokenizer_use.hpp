// What the tokenizer fuzz targets do with a vocabulary that was read: encode and decode, whole and streamed.
#pragma once

#include <mixtura/tokenizer.hpp>

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "tokenizer/read.hpp"

namespace mixtura::fuzz {

// Ids stay in range, the stream is whole UTF-8 and equals the whole text.
inline void use(const StatePointer& state, std::string_view text) {
    const Tokenizer tokenizer(state);
    const TextSpan spans[] = {{text, false}, {text, true}};
    (void)tokenizer.encode_spans(spans);
    const auto ids = tokenizer.encode(text);
    if (!ids) return;
    for (const TokenId id : *ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.size()) __builtin_trap();
    }
    const auto whole = tokenizer.decode(*ids);
    auto stream = StreamDecoder::create(tokenizer);
    if (!whole || !stream) return;
    std::string streamed;
    for (const TokenId id : *ids) {
        const auto piece = stream->push(id);
        if (!piece || !is_utf8(*piece)) __builtin_trap();
        streamed += *piece;
    }
    const auto rest = stream->finish();
    if (!rest || !is_utf8(*rest)) __builtin_trap();
    streamed += *rest;
    if (streamed != *whole) __builtin_trap();
}

}  // namespace mixtura::fuzz
