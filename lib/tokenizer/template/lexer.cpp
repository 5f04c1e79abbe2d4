#include "tokenizer/template/lexer.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "tokenizer/template/python_number.hpp"
#include "tokenizer/template/text.hpp"
#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
// Letters of any script may name a variable; those beyond ASCII are taken as they come.
bool is_name_byte(char c) {
    return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}
int digit_value(char c) {
    if (is_ascii_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

class JinjaLexer {
  public:
    explicit JinjaLexer(std::string source) : source_(std::move(source)) {}

    Result<std::vector<JinjaToken>> run() {
        while (failure_.is_ok() && at_ < source_.size()) root();
        if (!failure_.is_ok()) return failure_;
        push(JinjaTokenKind::end, source_.size(), {});
        return std::move(tokens_);
    }

  private:
    std::string_view rest(std::size_t from) const {
        return std::string_view(source_).substr(std::min(from, source_.size()));
    }
    bool starts(std::size_t from, std::string_view prefix) const {
        return rest(from).substr(0, prefix.size()) == prefix;
    }
    std::size_t after_space(std::size_t from) const {
        return source_.size() - without_leading_space(rest(from)).size();
    }

    // Line and column of a byte; offsets are asked for in ascending order.
    JinjaPosition position(std::size_t offset) {
        for (; counted_ < offset; ++counted_) {
            const char c = source_[counted_];
            if (c == '\n') {
                ++here_.line;
                here_.column = 1;
            } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
                ++here_.column;
            }
        }
        return here_;
    }

    JinjaToken& push(JinjaTokenKind kind, std::size_t offset, std::string_view written) {
        JinjaToken& token = tokens_.emplace_back();
        token.kind = kind;
        token.at = position(offset);
        token.text = written;
        return token;
    }

    template <class... Parts>
    void fail(std::size_t offset, const Parts&... parts) {
        failure_ = Status(StatusCode::invalid_argument, jinja_message(position(offset), parts...));
    }

    // Template text in front of a tag, less what the tag's sign or lstrip_blocks takes away.
    void push_data(std::size_t begin, std::size_t end, char sign, bool is_statement) {
        std::string_view data = rest(begin).substr(0, end - begin);
        if (sign == '-') {
            data = without_trailing_space(data);
        } else if (sign != '+' && is_statement) {
            const std::size_t line = data.rfind('\n') + 1;  // 0 where there is none
            if ((line > 0 || at_line_start_) && without_leading_space(data.substr(line)).empty())
                data = data.substr(0, line);
        }
        if (!data.empty()) push(JinjaTokenKind::data, begin, data);
    }

    char sign_at(std::size_t offset) const {
        return offset < source_.size() && (source_[offset] == '-' || source_[offset] == '+') ? source_[offset] : '\0';
    }

    // The end of a tag ("%}" or "#}") at `offset`, or npos: "-" swallows all space behind it, "+" nothing, and without
    // a sign one newline goes (trim_blocks).
    std::size_t tag_end(std::size_t offset, std::string_view close) const {
        const char sign = sign_at(offset);
        if (!starts(offset + (sign == '\0' ? 0 : 1), close)) return std::string::npos;
        const std::size_t after = offset + close.size() + (sign == '\0' ? 0 : 1);
        if (sign == '-') return after_space(after);
        return sign == '\0' && starts(after, "\n") ? after + 1 : after;
    }

    void enter(std::size_t after) {
        at_line_start_ = after > 0 && source_[after - 1] == '\n';
        at_ = after;
    }

    void root() {
        std::size_t tag = at_;
        for (;; ++tag) {
            tag = source_.find('{', tag);
            if (tag == std::string::npos || tag + 1 >= source_.size()) {
                push(JinjaTokenKind::data, at_, rest(at_));
                at_ = source_.size();
                return;
            }
            if (source_[tag + 1] == '{' || source_[tag + 1] == '%' || source_[tag + 1] == '#') break;
        }
        const char kind = source_[tag + 1];
        const char sign = sign_at(tag + 2);
        const std::size_t content = tag + 2 + (sign == '\0' ? 0 : 1);
        push_data(at_, tag, sign, kind != '{');
        if (kind == '#') return comment(tag, content);
        if (kind == '%') {
            if (const std::size_t raw_begin = raw_content(content); raw_begin != std::string::npos)
                return raw(tag, raw_begin);
        }
        push(kind == '{' ? JinjaTokenKind::variable_begin : JinjaTokenKind::block_begin, tag, {});
        at_ = content;
        tag_tokens(kind == '{');
    }

    void comment(std::size_t tag, std::size_t content) {
        if (content >= source_.size()) return enter(content);
        const std::size_t close = source_.find("#}", content);
        if (close == std::string::npos) return fail(tag, "the comment has no end, expected '#}'");
        const bool is_signed = close > content && sign_at(close - 1) != '\0';
        enter(tag_end(close - (is_signed ? 1 : 0), "#}"));
    }

    // Where the text of {% raw %} starts, given what follows "{%"; npos for any other tag.
    std::size_t raw_content(std::size_t content) const {
        std::size_t at = after_space(content);
        if (!starts(at, "raw")) return std::string::npos;
        at = after_space(at + 3);
        if (starts(at, "-%}")) return after_space(at + 3);
        return starts(at, "%}") ? at + 2 : std::string::npos;
    }

    void raw(std::size_t tag, std::size_t content) {
        enter(content);
        if (content >= source_.size()) return;
        for (std::size_t close = source_.find("{%", content); close != std::string::npos;
             close = source_.find("{%", close + 1)) {
            const char sign = sign_at(close + 2);
            const std::size_t name = after_space(close + 2 + (sign == '\0' ? 0 : 1));
            if (!starts(name, "endraw")) continue;
            const std::size_t after = tag_end(after_space(name + 6), "%}");
            if (after == std::string::npos) continue;
            push_data(content, close, sign, true);
            return enter(after);
        }
        fail(tag, "'raw' has no end, expected '{% endraw %}'");
    }

    void tag_tokens(bool is_variable) {
        std::string closers;  // brackets still open; an end tag inside them is no end
        for (;;) {
            if (at_ >= source_.size()) return;  // the parser says what is missing
            if (closers.empty()) {
                std::size_t after = std::string::npos;
                if (!is_variable)
                    after = tag_end(at_, "%}");
                else if (starts(at_, "-}}"))
                    after = after_space(at_ + 3);
                else if (starts(at_, "}}"))
                    after = at_ + 2;
                if (after != std::string::npos) {
                    push(is_variable ? JinjaTokenKind::variable_end : JinjaTokenKind::block_end, at_, {});
                    return enter(after);
                }
            }
            at_ = after_space(at_);
            if (at_ >= source_.size() || (closers.empty() && is_end(is_variable))) continue;
            if (!tag_token(closers)) return;
        }
    }
    bool is_end(bool is_variable) const {
        return is_variable ? starts(at_, "}}") || starts(at_, "-}}") : tag_end(at_, "%}") != std::string::npos;
    }

    bool tag_token(std::string& closers) {
        const char c = source_[at_];
        if (is_ascii_digit(c)) return number();
        if (is_name_byte(c)) {
            std::size_t after = at_;
            while (after < source_.size() && is_name_byte(source_[after])) ++after;
            push(JinjaTokenKind::name, at_, rest(at_).substr(0, after - at_));
            at_ = after;
            return true;
        }
        if (c == '\'' || c == '"') return string(c);
        static constexpr std::array<std::string_view, 6> kPairs{"//", "**", "==", "!=", ">=", "<="};
        std::size_t length =
            std::any_of(kPairs.begin(), kPairs.end(), [&](std::string_view p) { return starts(at_, p); }) ? 2 : 1;
        if (length == 1 && std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
            fail(at_, "the character ", quoted(jinja_first_character(rest(at_))), " has no meaning here");
            return false;
        }
        if (c == '{' || c == '(' || c == '[') closers += c == '{' ? '}' : c == '(' ? ')' : ']';
        if (c == '}' || c == ')' || c == ']') {
            if (closers.empty() || closers.back() != c) {
                const std::string expected = closers.empty() ? "" : text(", expected '", closers.back(), "'");
                fail(at_, "unexpected '", c, "'", expected);
                return false;
            }
            closers.pop_back();
        }
        push(JinjaTokenKind::operation, at_, rest(at_).substr(0, length));
        at_ += length;
        return true;
    }

    bool string(char quote) {
        std::size_t close = at_ + 1;
        while (close < source_.size() && source_[close] != quote) close += source_[close] == '\\' ? 2 : 1;
        if (close >= source_.size()) {
            fail(at_, "the string has no end, expected ", quote);
            return false;
        }
        JinjaToken& token = push(JinjaTokenKind::string, at_, {});
        const std::string problem = unescape_jinja_string(rest(at_ + 1).substr(0, close - at_ - 1), token.text);
        if (!problem.empty()) {
            fail(at_, problem);
            return false;
        }
        at_ = close + 1;
        return true;
    }

    // Digits of a base with single underscores between them, from `from`.
    std::size_t after_digits(std::size_t from, int base) const {
        std::size_t at = from;
        while (at < source_.size()) {
            const std::size_t digit = source_[at] == '_' && at > from ? at + 1 : at;
            if (digit >= source_.size() || digit_value(source_[digit]) >= base) break;
            at = digit + 1;
        }
        return at;
    }

    bool number() {
        const std::size_t begin = at_;
        std::size_t after = after_digits(begin, 10);
        bool is_real = false;
        if (begin == 0 || source_[begin - 1] != '.') {  // "a.1.2" is two subscripts
            std::size_t fraction = after;
            if (starts(after, ".") && after + 1 < source_.size() && is_ascii_digit(source_[after + 1])) {
                fraction = after_digits(after + 1, 10);
            }
            std::size_t exponent = fraction;
            if (starts(fraction, "e") || starts(fraction, "E")) {
                const std::size_t digits = fraction + (sign_at(fraction + 1) == '\0' ? 1 : 2);
                if (digits < source_.size() && is_ascii_digit(source_[digits])) exponent = after_digits(digits, 10);
            }
            is_real = exponent != after;
            if (is_real) after = exponent;
        }
        if (is_real) return real(begin, after);
        int base = 10;
        std::size_t digits = begin;
        if (source_[begin] == '0') {
            static constexpr std::string_view kLetters = "bBoOxX";
            const std::size_t letter =
                begin + 1 < source_.size() ? kLetters.find(source_[begin + 1]) : std::string_view::npos;
            const int other = letter == std::string_view::npos ? 0 : letter < 2 ? 2 : letter < 4 ? 8 : 16;
            const std::size_t first = begin + 2 + (starts(begin + 2, "_") ? 1 : 0);
            if (other != 0 && after_digits(first, other) > first) {
                base = other;
                digits = first;
                after = after_digits(first, other);
            } else {
                after = after_digits(begin, 1);  // zeros only: Python has no octal 010
            }
        }
        std::int64_t value = 0;
        for (std::size_t i = digits; i < after; ++i) {
            if (source_[i] == '_') continue;
            if (__builtin_mul_overflow(value, std::int64_t{base}, &value) ||
                __builtin_add_overflow(value, std::int64_t{digit_value(source_[i])}, &value)) {
                fail(begin, "the number ", quoted(rest(begin).substr(0, after - begin)), " does not fit 64 bits");
                return false;
            }
        }
        push(JinjaTokenKind::integer, begin, {}).integer = value;
        at_ = after;
        return true;
    }

    bool real(std::size_t begin, std::size_t after) {
        const std::optional<double> value = parse_python_real(rest(begin).substr(0, after - begin));
        push(JinjaTokenKind::real, begin, {}).real = value.value_or(0);  // digits that number() saw are always a number
        at_ = after;
        return true;
    }

    std::string source_;
    std::size_t at_ = 0;
    bool at_line_start_ = true;
    std::size_t counted_ = 0;
    JinjaPosition here_;
    std::vector<JinjaToken> tokens_;
    Status failure_;
};

// Every kind of line end as "\n", and none at the very end (Jinja keeps no trailing newline).
std::string with_plain_newlines(std::string_view source) {
    std::string plain;
    plain.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r')
            plain += source[i];
        else if (i + 1 == source.size() || source[i + 1] != '\n')
            plain += '\n';
    }
    if (!plain.empty() && plain.back() == '\n') plain.pop_back();
    return plain;
}

}  // namespace

Result<std::vector<JinjaToken>> jinja_tokens(std::string_view source) {
    return JinjaLexer(with_plain_newlines(source)).run();
}

}  // namespace mixtura
