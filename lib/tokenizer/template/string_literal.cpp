#include <algorithm>

#include "tokenizer/template/lexer.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

bool append_utf8(std::string& out, std::uint32_t code_point) {
    char buffer[4];
    const std::string_view bytes = jinja_encode(code_point, buffer);
    out += bytes;
    return !bytes.empty();
}

// Up to `count_max` digits of `base` from `at`, which is moved behind them; how many there were is returned.
std::size_t read_digits(std::string_view text, std::size_t& at, std::size_t count_max, std::uint32_t base,
                        std::uint32_t& value) {
    std::size_t count = 0;
    for (value = 0; count < count_max && at < text.size(); ++count, ++at) {
        const char c = text[at];
        const std::uint32_t digit = c >= '0' && c <= '9'   ? static_cast<std::uint32_t>(c - '0')
                                    : c >= 'a' && c <= 'f' ? static_cast<std::uint32_t>(c - 'a' + 10)
                                    : c >= 'A' && c <= 'F' ? static_cast<std::uint32_t>(c - 'A' + 10)
                                                           : base;
        if (digit >= base) break;
        value = value * base + digit;
    }
    return count;
}

}  // namespace

std::string unescape_jinja_string(std::string_view literal, std::string& out) {
    static constexpr std::string_view kLetters = "\\'\"abfnrtv";
    static constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    out.clear();
    std::size_t at = 0;
    while (at < literal.size()) {
        const char c = literal[at++];
        if (c != '\\' || at >= literal.size()) {
            out += c;
            continue;
        }
        const char letter = literal[at++];
        std::uint32_t value = 0;
        if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) {
            out += kMeanings[known];
        } else if (letter == '\n') {
            // a backslash at the end of a line joins it with the next
        } else if (letter >= '0' && letter <= '7') {
            --at;
            read_digits(literal, at, 3, 8, value);
            append_utf8(out, value);
        } else if (letter == 'x' || letter == 'u' || letter == 'U') {
            const std::size_t wanted = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
            if (read_digits(literal, at, wanted, 16, value) != wanted) {
                return text("the escape \\", letter, " needs ", wanted, " hexadecimal digits");
            }
            std::uint32_t low = 0;
            if (letter == 'u' && value >= 0xD800 && value < 0xDC00 && literal.substr(at, 2) == "\\u") {
                std::size_t next = at + 2;
                if (read_digits(literal, next, 4, 16, low) == 4 && low >= 0xDC00 && low < 0xE000) {
                    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
                    at = next;
                }
            }
            if (!append_utf8(out, value)) return text("the escape \\", letter, " names no character of Unicode");
        } else if (letter == 'N') {
            return "the escape \\N is not supported, expected \\u and four hexadecimal digits";
        } else {
            out += '\\';
            out += letter;
        }
    }
    return {};
}

}  // namespace mixtura
