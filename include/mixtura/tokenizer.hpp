// Tokenizer: text to token ids and back, with the ids and the text that the vocabulary's own reference library gives.
// It reads a GGUF file, a checkpoint folder, or a lone tokenizer.json or tokenizer.model.  Usable alone; Model holds
// one.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

inline constexpr TokenId kNoToken = -1;

// Which added tokens (turn markers, control tokens, tokens added after training) are recognised where a text spells
// them.
enum class AddedTokens : std::int32_t {
    all = 0,           // what the Hugging Face tokenizers library does
    special_only = 1,  // those the vocabulary calls special or control
    none = 2,  // no one: the text is only text.  For a SentencePiece vocabulary this is what SentencePiece itself
               // gives: user-defined pieces are vocabulary, control pieces are never matched
};

// What is put around a text.
enum class AddBos : std::int32_t {
    model_default = 0,  // what the vocabulary's own rules say: often BOS in front, for some families EOS behind
    yes = 1,            // BOS in front, whatever those rules say; INVALID_ARGUMENT where the vocabulary names no BOS
    no = 2,             // nothing
};

struct EncodeOptions {
    AddedTokens added_tokens = AddedTokens::all;
    AddBos add_bos = AddBos::model_default;
};

struct DecodeOptions {
    bool skip_special = true;  // leave special tokens out of the text
};

// A piece of a prompt.  Trusted text comes from the program or its chat template, all other text from somebody else.
struct TextSpan {
    std::string_view text;
    bool is_trusted = false;
};

// The tokens with a role.  kNoToken: the vocabulary names none.
struct SpecialTokens {
    TokenId bos = kNoToken, eos = kNoToken;  // of a text
    TokenId eot = kNoToken;                  // end of a turn
    TokenId eom = kNoToken;                  // end of a message that expects a tool's answer
    TokenId unk = kNoToken, pad = kNoToken, sep = kNoToken, mask = kNoToken;
    TokenId fim_prefix = kNoToken, fim_suffix = kNoToken, fim_middle = kNoToken;
};

class StreamDecoder;

class Tokenizer {
  public:
    // `path` is a GGUF file, a folder with a tokenizer.json (which wins) or a tokenizer.model, or one of these files
    // alone.  In a folder tokenizer_config.json, added_tokens.json, special_tokens_map.json, generation_config.json and
    // config.json are read where they alter behaviour.  A tokenizer.json's truncation and padding are left aside: they
    // are training settings.  Errors: NOT_FOUND, IO, UNKNOWN_FORMAT, CORRUPT_FILE, UNSUPPORTED (names the component
    // that this version does not know; none is ever ignored).  Blocks on the disk.  Threads: any-thread.
    static Result<Tokenizer> open(const std::string& path) noexcept;

    // All const members: any-thread.  Views and spans live as long as the Tokenizer or a copy of it.

    // Ids of `text`, which may hold NUL bytes.  Bytes that are no UTF-8 never fail: a byte-level vocabulary encodes
    // each as itself, every other takes each for U+FFFD, as SentencePiece does.  Errors: INVALID_ARGUMENT (see AddBos),
    // BUDGET_EXCEEDED (a pattern of the vocabulary needs more than its bounded steps on this text).
    Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options = {}) const noexcept;

    // Ids of a prompt made of spans, as if they were one text, for chats: every added token is recognised in trusted
    // text alone, and no id of one comes from untrusted bytes by any other way (merges, normalisation, a marker that
    // two spans make up together).  Two kinds of added token that mark nothing stay ordinary vocabulary in untrusted
    // text too, so that honest text has the ids its model was trained on: runs of white space, and single characters
    // that are part of the model's alphabet, both only where they are not special.  Where the vocabulary's rules put
    // BOS in front, the prompt gets exactly one: none is added when the first span already spells it.  Errors: as
    // encode.
    Result<std::vector<TokenId>> encode_spans(std::span<const TextSpan> spans) const noexcept;

    // The text of `ids`, equal to the reference library's: what is no UTF-8 becomes U+FFFD.  OUT_OF_RANGE for an id
    // that is not in [0, size()).
    Result<std::string> decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const noexcept;

    // The bytes one token stands for, also where they are no whole character; a special token's own spelling.
    Result<std::string> token_bytes(TokenId id) const noexcept;

    std::string_view kind() const noexcept;    // "byte-level BPE", "BPE", "SentencePiece BPE", "Unigram"
    std::string_view source() const noexcept;  // "tokenizer.json", "tokenizer.model", "GGUF (gpt2, qwen2)"
    std::size_t size() const noexcept;         // ids are in [0, size())
    std::string_view token_text(
        TokenId id) const noexcept;  // as the vocabulary spells it; empty for an id it leaves out
    TokenId find(std::string_view token_text) const noexcept;  // kNoToken where there is none of that spelling
    const SpecialTokens& special_tokens() const noexcept;
    std::span<const TokenId> end_tokens() const noexcept;  // every token that ends a reply, ascending
    bool is_end(TokenId id) const noexcept;
    bool is_special(TokenId id) const noexcept;  // special or control
    bool is_added(TokenId id) const noexcept;    // recognised under AddedTokens::all
    bool adds_bos() const noexcept;              // under AddBos::model_default

    struct State;
    explicit Tokenizer(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

  private:
    friend class StreamDecoder;
    std::shared_ptr<const State> state_;  // shared by copies; immutable
};

// Text out of ids one at a time.  Only whole UTF-8 comes out; what is not yet whole is held, and finish() turns it into
// U+FFFD.  Everything pushed and finished together equals Tokenizer::decode of the same ids.  A run of byte tokens
// ("<0xE4>") of a tokenizer.json is held until it ends, because one bad byte makes all of it U+FFFD in the reference.
// For bytes as they come use Tokenizer::token_bytes.  Threads: per-object.
class StreamDecoder {
  public:
    // Keeps what it needs of `tokenizer`, which may go before it.
    static Result<StreamDecoder> create(const Tokenizer& tokenizer, const DecodeOptions& options = {}) noexcept;
    StreamDecoder(StreamDecoder&&) noexcept;
    StreamDecoder& operator=(StreamDecoder&&) noexcept;
    ~StreamDecoder();

    // The text that became whole, valid until the next call.  OUT_OF_RANGE as Tokenizer::decode, and then nothing
    // changed.
    Result<std::string_view> push(TokenId id) noexcept;
    // The rest, valid until the next call; afterwards the decoder is as new.
    Result<std::string_view> finish() noexcept;

  private:
    struct Impl;
    explicit StreamDecoder(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}  // namespace mixtura
