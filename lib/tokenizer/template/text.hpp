// Text values: windows on stores, with the origin of every byte kept through whatever a template does to them.
// Characters are Python's: code points; a byte that starts no well-formed sequence counts as one and stays as it is.
#pragma once

#include <string_view>

#include "tokenizer/template/run.hpp"

namespace mixtura {

inline std::string_view jinja_text(const JinjaValue& value) { return {value.text->bytes + value.offset, value.size}; }

// Text of one origin whose bytes live as long as the rendering and are not copied.  False: over the memory limit.
bool jinja_borrow(JinjaRun& run, std::string_view bytes, bool is_trusted, JinjaValue& out);
// A copy of `bytes`.
bool jinja_copy(JinjaRun& run, std::string_view bytes, bool is_trusted, JinjaValue& out);

// The window [offset, offset + size) of a text's own bytes.
inline JinjaValue jinja_slice(const JinjaValue& text, std::size_t offset, std::size_t size) {
    JinjaValue part = text;
    part.offset += static_cast<std::uint32_t>(offset);
    part.size = static_cast<std::uint32_t>(size);
    return part;
}

// One piece of one origin.
struct JinjaPiece {
    std::string_view bytes;
    bool is_trusted = false;
};

// A text's pieces in order:  JinjaPieces pieces(text); for (JinjaPiece piece; pieces.next(piece);) …
class JinjaPieces {
  public:
    explicit JinjaPieces(const JinjaValue& text);
    bool next(JinjaPiece& piece);

  private:
    const JinjaTextStore* store_;
    std::uint32_t at_;
    std::uint32_t end_;
    std::uint32_t run_;
};

bool is_wholly_trusted(const JinjaValue& text);

// A text's characters in order:  JinjaCharacters characters(text); while (characters.next()) …
class JinjaCharacters {
  public:
    explicit JinjaCharacters(const JinjaValue& text);
    bool next();
    std::string_view bytes() const { return bytes_; }
    std::uint32_t code_point() const;  // 0xFFFFFFFF for a byte that starts no well-formed sequence
    bool is_trusted() const { return is_trusted_; }
    std::size_t offset() const { return static_cast<std::size_t>(bytes_.data() - begin_); }  // of it in the text

  private:
    JinjaPieces pieces_;
    JinjaPiece piece_;  // where the current character starts
    const char* begin_;
    const char* end_;
    std::string_view bytes_;
    bool is_trusted_ = false;
    bool is_well_formed_ = false;
};

// The first character of non-empty bytes, and the last.
std::string_view jinja_first_character(std::string_view bytes);
std::string_view jinja_last_character(std::string_view bytes);
std::uint32_t jinja_code_point(std::string_view character);
std::size_t jinja_character_count(std::string_view bytes);
// Byte offset of character `index`, or the size where there are fewer.
std::size_t jinja_character_offset(std::string_view bytes, std::size_t index);

// Where `part` is found in `whole` at or behind `from`, or npos; time in proportion to their sizes, whatever they hold.
std::size_t find_jinja_text(std::string_view whole, std::string_view part, std::size_t from = 0);
// The last place that ends at or before `end`.  False where looking takes more than the limit of steps.
bool find_last_jinja_text(JinjaRun& run, std::string_view whole, std::string_view part, std::size_t end,
                          std::size_t& at);

// A code point as UTF-8; empty for what UTF-8 cannot hold.
std::string_view jinja_encode(std::uint32_t code_point, char (&buffer)[4]);

// Makes a new text from pieces.  Every append may fail at a limit.
class JinjaTextBuilder {
  public:
    explicit JinjaTextBuilder(JinjaRun& run, std::size_t bytes_max = 0xFFFFFFFF) : run_(run), bytes_max_(bytes_max) {}

    [[nodiscard]] bool append(std::string_view bytes, bool is_trusted);
    [[nodiscard]] bool append(const JinjaValue& text);  // with its origins
    [[nodiscard]] bool append_repeated(const JinjaValue& text, std::size_t count);

    std::size_t size() const { return store_ == nullptr ? 0 : store_->used; }
    const JinjaTextStore* store() const { return store_; }  // null while empty
    // All of it, as a text value; where `is_new_text`, data unless every piece was the template's.
    [[nodiscard]] bool finish(JinjaValue& out, bool is_new_text = false);

  private:
    bool reserve(std::size_t more);
    JinjaRun& run_;
    JinjaTextStore* store_ = nullptr;
    std::size_t bytes_max_;
};

// left + right.  Grows left's store where left ends it, so a chain of additions copies each byte about once.
bool jinja_concatenate(JinjaRun& run, const JinjaValue& left, const JinjaValue& right, JinjaValue& out);

}  // namespace mixtura
