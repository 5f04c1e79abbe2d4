// JSON text (RFC 8259) read once, character by character, into events: what json.cpp builds documents from and what
// safetensors.cpp reads headers with.  It allocates nothing but one bit a level: strings arrive in pieces, numbers are
// at most kNumberBytesMax long, nesting is bounded by the caller, and no part of it knows of locales.
//
// Feed:    int peek()  the next byte, or -1 at the end (or where reading failed)
//          void pop()  goes past it
// Handler: bool null()  bool boolean(bool)  bool number(const JsonNumber&)
//          bool begin_string(bool is_key)  bool string_piece(std::string_view)  bool end_string(bool is_key)
//          bool begin_array()  bool end_array()  bool begin_object()  bool end_object()
//          Each says whether to go on; a handler that stops keeps its own reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"

namespace mixtura {

struct JsonNumber {
    std::string_view digits;              // as written
    std::optional<std::int64_t> integer;  // written without point and exponent, and within 64 bits
    double real = 0;                      // always; a magnitude below the smallest double is 0
};

template <class Feed, class Handler>
class JsonScanner {
  public:
    static constexpr std::size_t kNumberBytesMax = 512;

    JsonScanner(Feed& feed, Handler& handler, std::size_t depth_max)
        : feed_(feed), handler_(handler), depth_max_(depth_max) {}

    // True when the feed was one JSON value and nothing else.  Otherwise problem() is the end of a sentence ("cannot be
    // read as JSON at byte 7: expected …, found …"), or empty where the handler stopped.
    bool scan() {
        Next next = Next::value;
        while (next != Next::nothing) {
            skip_space();
            if (!step(next)) return false;
        }
        skip_space();
        return feed_.peek() < 0 || fail("the end of the text");
    }

    const std::string& problem() const { return problem_; }

  private:
    enum class Next { value, element_or_end, key, key_or_end, comma_or_end, nothing };

    bool step(Next& next) {
        const int c = feed_.peek();
        const bool is_object = !open_.empty() && open_.back();
        const bool may_end = next == Next::element_or_end || next == Next::key_or_end || next == Next::comma_or_end;
        if (may_end && c == (is_object ? '}' : ']')) {
            take();
            open_.pop_back();
            next = after_value();
            return is_object ? handler_.end_object() : handler_.end_array();
        }
        switch (next) {
            case Next::comma_or_end:
                if (c != ',') return fail(is_object ? "',' or '}'" : "',' or ']'");
                take();
                next = is_object ? Next::key : Next::value;
                return true;
            case Next::key:
            case Next::key_or_end:
                if (c != '"')
                    return fail(next == Next::key ? "a key in double quotes" : "a key in double quotes or '}'");
                if (!string(true)) return false;
                skip_space();
                if (feed_.peek() != ':') return fail("':'");
                take();
                next = Next::value;
                return true;
            default: return value(c, next);
        }
    }

    bool value(int c, Next& next) {
        const bool is_object = c == '{';
        if (is_object || c == '[') {
            if (open_.size() >= depth_max_)
                return refuse(text("nests deeper than the ", depth_max_, " levels allowed"));
            take();
            open_.push_back(is_object);
            next = is_object ? Next::key_or_end : Next::element_or_end;
            return is_object ? handler_.begin_object() : handler_.begin_array();
        }
        const char* expected = next == Next::element_or_end ? "a value or ']'" : "a value";
        next = after_value();
        switch (c) {
            case '"': return string(false);
            case 'n': return word("null") && handler_.null();
            case 't': return word("true") && handler_.boolean(true);
            case 'f': return word("false") && handler_.boolean(false);
            default: break;
        }
        if (c == '-' || is_digit(c)) return number();
        return fail(expected);
    }

    Next after_value() const { return open_.empty() ? Next::nothing : Next::comma_or_end; }

    bool word(std::string_view letters) {
        for (const char letter : letters) {
            if (feed_.peek() != letter) return fail(letters);
            take();
        }
        return true;
    }

    // ---- numbers
    // -----------------------------------------------------------------------------------------------------

    static bool is_digit(int c) { return c >= '0' && c <= '9'; }

    bool digit_run(std::string& digits) {
        if (!is_digit(feed_.peek())) return fail("a digit");
        while (is_digit(feed_.peek())) {
            if (digits.size() == kNumberBytesMax)
                return refuse(text("a number longer than ", kNumberBytesMax, " characters"));
            digits += static_cast<char>(take());
        }
        return true;
    }

    bool number() {
        std::string& digits = digits_;
        digits.clear();
        if (feed_.peek() == '-') digits += static_cast<char>(take());
        if (feed_.peek() == '0') {
            digits += static_cast<char>(take());  // and no digit may follow, which the caller finds
        } else if (!digit_run(digits)) {
            return false;
        }
        bool is_whole = true;
        if (feed_.peek() == '.') {
            is_whole = false;
            digits += static_cast<char>(take());
            if (!digit_run(digits)) return false;
        }
        if (feed_.peek() == 'e' || feed_.peek() == 'E') {
            is_whole = false;
            digits += static_cast<char>(take());
            if (feed_.peek() == '+' || feed_.peek() == '-') digits += static_cast<char>(take());
            if (!digit_run(digits)) return false;
        }
        JsonNumber number{digits, std::nullopt, 0};
        if (is_whole) number.integer = parse_integer<std::int64_t>(digits);
        const auto real = parse_double(digits);
        if (!real && decimal_magnitude(digits) > 0)
            return refuse(text("the number ", quoted(digits), " is larger than a double can hold"));
        number.real = real.value_or(0);
        return handler_.number(number);
    }

    // Number of digits before the point once written without exponent: tells too large from too small, which from_chars
    // does not.  Only asked about numbers outside the range of double, so that being off by a few changes nothing.
    static std::int64_t decimal_magnitude(std::string_view digits) {
        const std::size_t mark = digits.find_first_of("eE");
        std::string_view mantissa = digits.substr(0, mark);
        if (mantissa[0] == '-') mantissa.remove_prefix(1);
        const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
        const std::size_t first = mantissa.find_first_of("123456789");
        if (first == std::string_view::npos) return 0;
        const auto magnitude = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
        if (mark == std::string_view::npos) return magnitude;
        std::string_view exponent = digits.substr(mark + 1);
        const bool is_negative = exponent[0] == '-';
        if (exponent[0] == '-' || exponent[0] == '+') exponent.remove_prefix(1);
        constexpr std::int64_t kBeyond = 1'000'000;  // of an exponent that leaves 64 bits only the sign matters
        const std::int64_t shift = std::min(parse_integer<std::int64_t>(exponent).value_or(kBeyond), kBeyond);
        return magnitude + (is_negative ? -shift : shift);
    }

    // ---- strings
    // -----------------------------------------------------------------------------------------------------

    bool string(bool is_key) {
        take();
        if (!handler_.begin_string(is_key)) return false;
        piece_bytes_ = 0;
        for (int c = feed_.peek(); c != '"'; c = feed_.peek()) {
            // The longest character takes 4 bytes, so there is always room for one more.
            if (piece_bytes_ + 4 > sizeof piece_ && !flush()) return false;
            if (!(c == '\\' ? escape() : plain(c))) return false;
        }
        take();
        return (piece_bytes_ == 0 || flush()) && handler_.end_string(is_key);
    }

    bool flush() {
        const std::string_view piece(piece_, piece_bytes_);
        piece_bytes_ = 0;
        return handler_.string_piece(piece);
    }

    bool plain(int c) {
        if (c < 0) return fail("'\"'");
        if (c < 0x20)
            return refuse(text("a string holds the control byte ", quoted(std::string(1, static_cast<char>(c)))));
        const std::size_t begin = piece_bytes_;
        piece_[piece_bytes_++] = static_cast<char>(take());
        if (c < 0x80) return true;
        const std::size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        while (piece_bytes_ - begin < length && (feed_.peek() & ~0x3F) == 0x80)
            piece_[piece_bytes_++] = static_cast<char>(take());
        const std::string_view character(piece_ + begin, piece_bytes_ - begin);
        return utf8_sequence_bytes(character) == character.size() || refuse("a string is not UTF-8");
    }

    bool escape() {
        take();
        const int c = feed_.peek();
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        if (c == 'u') return unicode_escape();
        const std::size_t at = c < 0 ? std::string_view::npos : kLetters.find(static_cast<char>(c));
        if (at == std::string_view::npos) return fail("one of \"\\/bfnrtu behind '\\'");
        take();
        piece_[piece_bytes_++] = kMeanings[at];
        return true;
    }

    bool hex4(std::uint32_t& unit) {
        take();  // the u
        unit = 0;
        for (int i = 0; i < 4; ++i) {
            const int c = feed_.peek();
            const int digit = is_digit(c)            ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) return fail("four hexadecimal digits behind '\\u'");
            take();
            unit = unit << 4 | static_cast<std::uint32_t>(digit);
        }
        return true;
    }

    bool unicode_escape() {
        std::uint32_t code = 0;
        if (!hex4(code)) return false;
        if (code >= 0xDC00 && code <= 0xDFFF) return refuse("the second half of a surrogate pair without its first");
        if (code >= 0xD800 && code <= 0xDBFF) {
            std::uint32_t low = 0;
            if (feed_.peek() != '\\') return refuse("the first half of a surrogate pair without its second");
            take();
            if (feed_.peek() != 'u') return refuse("the first half of a surrogate pair without its second");
            if (!hex4(low)) return false;
            if (low < 0xDC00 || low > 0xDFFF) return refuse("the first half of a surrogate pair without its second");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        const auto put = [this](std::uint32_t byte) { piece_[piece_bytes_++] = static_cast<char>(byte); };
        if (code < 0x80) {
            put(code);
        } else if (code < 0x800) {
            put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
        } else {
            put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)),
                put(0x80 | (code & 0x3F));
        }
        return true;
    }

    // ---- feed and failures
    // -------------------------------------------------------------------------------------------

    int take() {
        const int c = feed_.peek();
        feed_.pop();
        ++position_;
        return c;
    }

    void skip_space() {
        for (int c = feed_.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = feed_.peek()) take();
    }

    bool fail(std::string_view expected) {
        const int c = feed_.peek();
        return refuse(
            text("expected ", expected, ", found ", c < 0 ? "the end" : quoted(std::string(1, static_cast<char>(c)))));
    }

    bool refuse(std::string_view reason) {
        problem_ = text("cannot be read as JSON at byte ", position_, ": ", reason);
        return false;
    }

    Feed& feed_;
    Handler& handler_;
    std::size_t depth_max_;
    std::vector<bool> open_;  // true for an object
    std::uint64_t position_ = 0;
    char piece_[256];
    std::size_t piece_bytes_ = 0;
    std::string digits_;
    std::string problem_;
};

}  // namespace mixtura
