// The readers: an untrusted file in, a Tokenizer::State out.  None of them trusts a count, an id or a pattern of the
// file.
#pragma once

#include <mixtura/status.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "formats/gguf.hpp"
#include "formats/json.hpp"
#include "tokenizer/state.hpp"

namespace mixtura {

using StatePointer = std::shared_ptr<Tokenizer::State>;

// A tokenizer.json.  `name` stands for the file in messages.  The state is not finished: its folder may add to it.
Result<StatePointer> read_tokenizer_json(std::string_view text, std::string_view name);

// A SentencePiece model (tokenizer.model, spiece.model).
Result<StatePointer> read_sentencepiece_model(std::string_view bytes, std::string_view name);

// The vocabulary in a GGUF file's metadata.
Result<StatePointer> read_gguf_vocabulary(const GgufHeader& header, std::string_view name);

// What lies beside a vocabulary in its folder; a file that is not there says nothing.
Status read_folder_settings(const std::string& folder, Tokenizer::State& state);

// One entry of "added_tokens" or "added_tokens_decoder"; id -1 where it has none.
Result<AddedToken> read_added_token(JsonValue entry, const std::string& where);
// Adds `token` to vocabulary and added tokens, or replaces the added token of the same id.
Status add_token(Tokenizer::State& state, AddedToken token, const std::string& where);

// End-of-reply tokens by their published spellings, for vocabularies whose file names none; also eot and eom.
void find_end_tokens(Tokenizer::State& state);

}  // namespace mixtura
