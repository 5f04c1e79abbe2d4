// The pre-tokenizers that GGUF files name in tokenizer.ggml.pre: patterns, normaliser and flags for every name that
// llama.cpp's converter writes.  A file holds no more than the name, so this table is the only place that knows them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace mixtura {

struct GgufPreTokenizer {
    std::string_view names;                    // separated by spaces
    std::array<std::string_view, 6> patterns;  // each isolates its matches, in order; empty ones end the list
    std::uint32_t flags = 0;
    std::array<std::string_view, 2> letter_patterns{};  // the same, after bytes became letters of the byte alphabet
};

enum GgufPreFlags : std::uint32_t {
    kPreNfc = 1,           // the text is normalised to NFC first
    kPreIgnoreMerges = 2,  // a word that is a token is that token
    kPreAddsBos = 4,       // unless the file says otherwise
    kPreMetaSpace = 8,     // no byte alphabet: spaces are U+2581, unknown bytes "<0xE4>" tokens
};

// Null where no row has this name.
const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) noexcept;
std::span<const GgufPreTokenizer> all_gguf_pre_tokenizers() noexcept;

}  // namespace mixtura
