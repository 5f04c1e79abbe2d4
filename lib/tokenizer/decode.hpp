// Ids back to text: the decoders of a tokenizer.json as a chain of stages, SentencePiece's decoder as a stage of its
// own. Every stage works token by token, so that decoding all at once and streaming are the same code and give the same
// text.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/regex.hpp"
#include "tokenizer/vocabulary.hpp"

namespace mixtura {

struct DecodeStage {
    enum class Kind : std::uint8_t {
        replace,          // pattern or literal by content, in each token
        byte_fallback,    // runs of "<0xE4>" as UTF-8; a run that is none as one U+FFFD for each of its tokens
        fuse,             // all tokens are one from here on
        meta_space,       // `literal` is a space; in the first token it is nothing where drops_first
        strip,            // up to `start` of `literal` in front, `stop` behind
        byte_level,       // letters of the byte alphabet as bytes, all of them together as UTF-8
        join_with_space,  // what the tokenizers library does without a decoder
        sentencepiece,    // see SentencePieceDecoding
    };
    Kind kind = Kind::fuse;
    std::string literal, content;
    std::optional<Regex> pattern;
    std::size_t start = 0, stop = 0;
    bool drops_first = false;
    bool keeps_flagged = false;  // byte_level: special and user-defined tokens are spelled in plain text (GGUF)
    bool is_fused = false;       // a stage before has made one token of all
};

struct SentencePieceDecoding {
    bool strips_leading = true;       // the leading sign of a space, of the first token that shows
    bool strips_all_leading = false;  // of each token until something shows (remove_extra_whitespaces)
    std::string unknown_surface = " \xE2\x81\x87 ";
};

struct DecodePlan {
    std::vector<DecodeStage> stages;
    SentencePieceDecoding sentencepiece;
    // Added tokens whose spelling went through the normaliser, as the tokenizers library decodes them.
    std::unordered_map<TokenId, std::string> respelled;

    bool has(DecodeStage::Kind kind) const noexcept;
};

// Fills in is_fused of every stage.  UNSUPPORTED where the chain cannot be run token by token.
Status check_decode_plan(DecodePlan& plan, std::string_view where);

// One decoding on its way.  `plan` and `vocabulary` outlive it.
class DecodeRun {
  public:
    DecodeRun(const DecodePlan& plan, const Vocabulary& vocabulary, bool skips_special);

    // Text that became whole is appended to `out`.
    Status push(TokenId id, std::string& out);
    Status finish(std::string& out);

  private:
    struct StageState {
        std::string held;         // bytes or text that is not yet whole
        std::size_t count = 0;    // tokens seen, or characters stripped
        bool is_at_start = true;  // nothing has shown yet
    };
    Status feed(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status flush(std::size_t stage, std::string& out);
    Status feed_replace(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status feed_bytes(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status feed_strip(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status feed_byte_level(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status feed_sentencepiece(std::size_t stage, TokenId id, std::string_view token, std::string& out);
    Status end_byte_run(std::size_t stage, std::string& out);

    const DecodePlan& plan_;
    const Vocabulary& vocabulary_;
    bool skips_special_;
    std::vector<StageState> states_;
    RegexWorkspace regex_;
};

// The bytes that one token stands for.
Result<std::string> bytes_of_token(const DecodePlan& plan, const Vocabulary& vocabulary, TokenId id);

}  // namespace mixtura
