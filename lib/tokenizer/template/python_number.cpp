#include "tokenizer/template/python_number.hpp"

#include <charconv>
#include <limits>
#include <string>

#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

std::int64_t base_of_prefix(std::string_view digits) {
    if (digits.size() < 2 || digits[0] != '0') return 10;
    switch (digits[1] | 0x20) {
        case 'b': return 2;
        case 'o': return 8;
        case 'x': return 16;
        default: return 10;
    }
}

std::string_view without_space(std::string_view text) { return without_trailing_space(without_leading_space(text)); }

}  // namespace

PythonNumber parse_python_integer(std::string_view text, std::int64_t base, std::int64_t& out) {
    std::string_view digits = without_space(text);
    const bool is_negative = !digits.empty() && digits[0] == '-';
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
    if (base != 0 && (base < 2 || base > 36)) return PythonNumber::invalid;
    const std::int64_t prefix = base_of_prefix(digits);
    const bool is_guessed = base == 0;
    if (is_guessed) base = prefix;
    bool allows_underscore = false;
    if (prefix != 10 && prefix == base) {
        digits.remove_prefix(2);
        allows_underscore = true;
    }
    bool has_digits = false;
    bool is_too_large = false;
    std::int64_t value = 0;
    for (const char c : digits) {
        if (c == '_') {
            if (!allows_underscore) return PythonNumber::invalid;
            allows_underscore = false;
            continue;
        }
        const int digit = digit_of(c);
        if (digit >= base) return PythonNumber::invalid;
        has_digits = true;
        allows_underscore = true;
        is_too_large = is_too_large || __builtin_mul_overflow(value, base, &value) ||
                       (is_negative ? __builtin_sub_overflow(value, std::int64_t{digit}, &value)
                                    : __builtin_add_overflow(value, std::int64_t{digit}, &value));
    }
    if (!has_digits || digits.back() == '_') return PythonNumber::invalid;
    if (is_guessed && base == 10 && digits.size() > 1 && digits[0] == '0' && value != 0) return PythonNumber::invalid;
    out = value;
    return is_too_large ? PythonNumber::too_large : PythonNumber::valid;
}

std::optional<double> parse_python_real(std::string_view text) {
    std::string_view written = without_space(text);
    const bool is_negative = !written.empty() && written[0] == '-';
    if (!written.empty() && (written[0] == '-' || written[0] == '+')) written.remove_prefix(1);
    const double sign = is_negative ? -1 : 1;
    std::string plain;
    for (std::size_t i = 0; i < written.size(); ++i) {
        const char c = written[i];
        if (c == '_') {  // between digits only
            const bool is_between =
                i > 0 && i + 1 < written.size() && digit_of(written[i - 1]) < 10 && digit_of(written[i + 1]) < 10;
            if (!is_between) return std::nullopt;
            continue;
        }
        plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    }
    if (plain == "inf" || plain == "infinity") return sign * std::numeric_limits<double>::infinity();
    if (plain == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (plain.empty() || plain.find_first_not_of("0123456789.e+-") != std::string::npos || plain[0] == '-' ||
        plain[0] == '+')
        return std::nullopt;
    double value = 0;
    const auto [end, failure] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (end != plain.data() + plain.size()) return std::nullopt;
    if (failure == std::errc::result_out_of_range) {
        // from_chars leaves open on which side; the sign of the exponent tells.
        const std::size_t e = plain.find('e');
        const bool is_tiny = e != std::string::npos && e + 1 < plain.size() && plain[e + 1] == '-';
        return is_tiny ? sign * 0.0 : sign * std::numeric_limits<double>::infinity();
    }
    if (failure != std::errc()) return std::nullopt;
    return sign * value;
}

}  // namespace mixtura
