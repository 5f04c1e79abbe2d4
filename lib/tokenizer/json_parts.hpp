// The component objects of a tokenizer.json, one reader each.  `where` is the file and the component's place in it.  An
// unknown type is UNSUPPORTED and named; a known one with a malformed field is CORRUPT_FILE.
#pragma once

#include <mixtura/status.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "formats/json.hpp"
#include "tokenizer/decode.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer.hpp"

namespace mixtura {

Status read_json_normalizer(JsonValue value, const std::string& where, Normalizer& normalizer);
Status read_json_pre_tokenizer(JsonValue value, const std::string& where, PreTokenizer& pre_tokenizer);
Status read_json_decoder(JsonValue value, const std::string& where, DecodePlan& plan);

// Ids that the post-processor puts in front of a text and behind it.
struct JsonTemplate {
    std::vector<TokenId> front, back;
};
Status read_json_post_processor(JsonValue value, const std::string& where, JsonTemplate& around);

// Fields of a component.  Each is CORRUPT_FILE, with the field named, where it is not of its kind.
Result<std::string_view> json_string(JsonValue object, std::string_view key, const std::string& where);
Result<bool> json_boolean(JsonValue object, std::string_view key, const std::string& where);
Result<bool> json_boolean_or(JsonValue object, std::string_view key, bool absent, const std::string& where);
Result<std::int64_t> json_integer(JsonValue object, std::string_view key, std::int64_t low, std::int64_t high,
                                  const std::string& where);

// GPT-2's pattern, which ByteLevel splits at.
inline constexpr std::string_view kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

}  // namespace mixtura
