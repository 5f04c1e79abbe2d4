// The tokens of a vocabulary: their spelling, what kind each is, and the way back from spelling to id.  Filled by the
// readers of the three file forms, then frozen.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

enum TokenFlags : std::uint16_t {
    kTokenPresent = 1,         // the file names this id
    kTokenAdded = 2,           // recognised where a text spells it, outside the model
    kTokenSpecial = 4,         // control: left out of decoded text on request
    kTokenUserDefined = 8,     // SentencePiece: vocabulary that is matched whole
    kTokenByte = 16,           // "<0x0A>": one byte
    kTokenUnknown = 32,        // stands for what the vocabulary cannot spell
    kTokenUnused = 64,         // SentencePiece: never given out
    kTokenMarker = 128,        // never comes out of untrusted text (Tokenizer::encode_spans)
    kTokenOutsideModel = 256,  // added behind the model's back: the model never makes it
};

class Vocabulary {
  public:
    static constexpr std::size_t kSizeMax = 1 << 24;  // the largest published one has 262,144

    // Adds a token.  CORRUPT_FILE when its id is taken, or (unless `may_repeat`) its spelling.
    Status add(TokenId id, std::string_view spelling, std::uint16_t flags, std::string_view where,
               bool may_repeat = false);
    // Room for `count` tokens whose ids are at most `id_max`.  CORRUPT_FILE when ids are far sparser than the file's
    // size explains: a short file must not make a large table.
    Status reserve(std::size_t count, std::int64_t id_max, std::string_view where);

    std::size_t size() const noexcept { return tokens_.size(); }
    bool contains(std::int64_t id) const noexcept {
        return id >= 0 && id < static_cast<std::int64_t>(tokens_.size()) &&
               (tokens_[static_cast<std::size_t>(id)].flags & kTokenPresent) != 0;
    }
    std::string_view spelling(TokenId id) const noexcept {
        const Token& token = tokens_[static_cast<std::size_t>(id)];
        return std::string_view(spellings_).substr(token.offset, token.length);
    }
    std::uint16_t flags(TokenId id) const noexcept { return tokens_[static_cast<std::size_t>(id)].flags; }
    bool has(TokenId id, std::uint16_t any_of) const noexcept { return (flags(id) & any_of) != 0; }
    void set_flags(TokenId id, std::uint16_t add_flags, std::uint16_t clear_flags = 0) noexcept;

    // kNoToken (-1) where no token has this spelling.  Of tokens with one spelling, the last added.
    TokenId find(std::string_view spelling) const noexcept;
    // The same among the tokens that the model itself can make.
    TokenId find_in_model(std::string_view spelling) const noexcept {
        const TokenId id = find(spelling);
        return id >= 0 && has(id, kTokenOutsideModel) ? -1 : id;
    }

  private:
    struct Token {
        std::uint32_t offset = 0;
        std::uint32_t length = 0;
        std::uint16_t flags = 0;
    };
    void grow_index(std::size_t count);
    std::string spellings_;
    std::vector<Token> tokens_;
    std::vector<TokenId> index_ = std::vector<TokenId>(16, -1);  // open addressing on the spelling's hash
    std::size_t present_ = 0;
};

// "<0xE4>": how a vocabulary spells the token of one byte.
std::string byte_token_spelling(unsigned byte);
// The byte that a spelling like "<0xE4>" names, or -1.
int byte_token_value(std::string_view spelling) noexcept;

}  // namespace mixtura
