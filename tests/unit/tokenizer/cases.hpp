// What the tokenizer's tests share: golden cases, small vocabularies, and the lists that tests go through.
#pragma once

#include <mixtura/tokenizer.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.hpp"
#include "support/files.hpp"

namespace mixtura::test {

// Opened, or the test fails with the message.
Tokenizer open_tokenizer(const std::string& path);

// A JSON file of the golden data; fails the test where there is none.
JsonDocument golden_json(std::string_view relative);
std::vector<TokenId> ids_of(JsonValue list);

// Encodes and decodes every case of a cases.json and checks ids, ids with what the vocabulary adds, and texts.  Returns
// how many comparisons were made.
std::size_t check_cases(const Tokenizer& tokenizer, JsonValue cases, AddedTokens mode);

// Every vocabulary of the golden data that is there as a file, with the mode its cases.json was made in.
struct Fixture {
    std::string name, path;
    AddedTokens mode = AddedTokens::all;
    bool is_byte_level = false;
};
std::vector<Fixture> fixtures();

// Random well-formed UTF-8 of all planes, NUL included, `characters` long.
std::string random_text(std::uint64_t seed, std::size_t characters);

// Pushes all ids through a StreamDecoder; checks that every piece is UTF-8; returns all of it.
std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const DecodeOptions& options);

std::string encoded_ids(const std::vector<TokenId>& ids);  // "1 2 3", for messages

}  // namespace mixtura::test
