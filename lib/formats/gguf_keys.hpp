// What the GGUF specification fixes about single keys: their type, and for a few their range.  A key that is not listed
// may hold anything; what reads it checks it.
#pragma once

#include <string>
#include <string_view>

#include "formats/gguf.hpp"

namespace mixtura {

// Empty when the value is as the key wants it, else the end of a sentence that starts with the key.
std::string gguf_key_problem(std::string_view key, const GgufValue& value);

// Empty when the lists of a vocabulary agree in length (tokens, scores, token types), else a sentence.
std::string gguf_vocabulary_problem(const GgufHeader& header);

}  // namespace mixtura
