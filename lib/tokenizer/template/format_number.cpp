#include <charconv>
#include <cmath>

#include "tokenizer/template/format.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kPrecisionMax = 1000;  // digits a format may ask for; a double has 767 at most

std::string to_text(double value, std::chars_format notation, int precision) {
    std::string buffer(static_cast<std::size_t>(precision) + 330, '\0');  // 309 digits before the point, sign, exponent
    const auto [end, failure] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, notation, precision);
    buffer.resize(static_cast<std::size_t>(end - buffer.data()));
    return buffer;
}

// Digits without the zeros a precision appends, and the place of the point counted from their start.
struct Decimal {
    std::string digits;
    int point = 0;
};
Decimal decimal_of(double magnitude, std::int64_t precision) {
    std::string written;
    if (precision < 0) {
        char buffer[40];
        const auto [end, failure] =
            std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific);
        written.assign(buffer, end);
    } else {
        written =
            to_text(magnitude, std::chars_format::scientific, static_cast<int>(precision == 0 ? 0 : precision - 1));
    }
    const std::size_t e = written.find('e');
    Decimal decimal;
    for (const char c : written.substr(0, e)) {
        if (c != '.') decimal.digits += c;
    }
    while (decimal.digits.size() > 1 && decimal.digits.back() == '0') decimal.digits.pop_back();
    decimal.point = *parse_integer<int>(std::string_view(written).substr(e + (written[e + 1] == '+' ? 2 : 1))) + 1;
    return decimal;
}

std::string with_exponent(const Decimal& decimal) {
    std::string out = decimal.digits.substr(0, 1);
    if (decimal.digits.size() > 1) out += text(".", decimal.digits.substr(1));
    const int exponent = decimal.point - 1;
    const int magnitude = exponent < 0 ? -exponent : exponent;
    return text(out, exponent < 0 ? "e-" : "e+", magnitude < 10 ? "0" : "", magnitude);
}

std::string without_exponent(const Decimal& decimal, bool always_has_point) {
    if (decimal.point <= 0)
        return text("0.", std::string(static_cast<std::size_t>(-decimal.point), '0'), decimal.digits);
    const auto point = static_cast<std::size_t>(decimal.point);
    if (decimal.digits.size() > point) return text(decimal.digits.substr(0, point), ".", decimal.digits.substr(point));
    return text(decimal.digits, std::string(point - decimal.digits.size(), '0'), always_has_point ? ".0" : "");
}

std::string integer_digits(std::uint64_t magnitude, int base) {
    char buffer[72];
    const auto [end, failure] = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
    return std::string(buffer, end);
}

// A separator between every `size` digits of the whole part, counted from its end.
std::string grouped(const std::string& digits, char separator, std::size_t size) {
    const std::size_t end = std::min(digits.find_first_not_of("0123456789abcdef"), digits.size());
    std::string out;
    for (std::size_t i = 0; i < end; ++i) {
        if (i > 0 && (end - i) % size == 0) out += separator;
        out += digits[i];
    }
    return out + digits.substr(end);
}

bool real_body(JinjaRun& run, double magnitude, const JinjaFormatSpec& spec, std::string& body) {
    if (spec.precision > kPrecisionMax)
        return run.fail("a precision of ", spec.precision, " digits is more than ", kPrecisionMax);
    const bool is_upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
    if (std::isnan(magnitude))
        body = "nan";
    else if (std::isinf(magnitude))
        body = "inf";
    else if (spec.type == '%')
        body = python_real_digits(magnitude * 100, 'f', spec.precision < 0 ? 6 : spec.precision);
    else if (spec.type == '\0')
        body = python_real_digits(magnitude, '\0', spec.precision);
    else
        body =
            python_real_digits(magnitude, static_cast<char>(spec.type | 0x20), spec.precision < 0 ? 6 : spec.precision);
    if (is_upper) {
        for (char& c : body) {
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 0x20);
        }
    }
    if (spec.grouping != '\0') body = grouped(body, spec.grouping, 3);
    if (spec.type == '%') body += '%';
    return true;
}

}  // namespace

std::string python_real_digits(double magnitude, char notation, std::int64_t precision) {
    if (notation == 'f') return to_text(magnitude, std::chars_format::fixed, static_cast<int>(precision));
    if (notation == 'e') return to_text(magnitude, std::chars_format::scientific, static_cast<int>(precision));
    const Decimal decimal = decimal_of(magnitude, precision);
    const std::int64_t significant = precision < 0 ? 17 : precision == 0 ? 1 : precision;
    const bool is_shortest = notation == '\0';
    const bool uses_exponent = decimal.point <= -4 || decimal.point > significant - (is_shortest ? 1 : 0);
    return uses_exponent ? with_exponent(decimal) : without_exponent(decimal, is_shortest);
}

std::string python_real_text(double value) {
    if (std::isnan(value)) return "nan";
    const std::string magnitude = std::isinf(value) ? "inf" : python_real_digits(std::fabs(value), '\0', -1);
    return std::signbit(value) ? "-" + magnitude : magnitude;
}

bool append_jinja_number(JinjaRun& run, const JinjaValue& number, const JinjaFormatSpec& spec, JinjaTextBuilder& out) {
    std::string prefix, body;
    bool is_negative = false;
    const bool is_integral = !number.is(JinjaKind::real) &&
                             (spec.type == '\0' || std::string_view("dboxX").find(spec.type) != std::string_view::npos);
    if (is_integral) {
        if (spec.precision >= 0) return run.fail("an integer is formatted without a precision");
        is_negative = number.integer < 0;
        const std::uint64_t magnitude =
            is_negative ? -static_cast<std::uint64_t>(number.integer) : static_cast<std::uint64_t>(number.integer);
        const int base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
        body = integer_digits(magnitude, base);
        if (spec.grouping != '\0') body = grouped(body, spec.grouping, base == 10 ? 3 : 4);
        if (spec.is_alternate && base != 10) prefix = text("0", spec.type);
        if (spec.type == 'X') {
            for (char& c : body) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
        }
    } else {
        if (spec.type != '\0' && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos) {
            return run.fail("the format '", spec.type, "' does not take ", jinja_type_name(number));
        }
        const double value = number.is(JinjaKind::real) ? number.real : static_cast<double>(number.integer);
        is_negative = std::signbit(value) && !std::isnan(value);
        if (!real_body(run, std::fabs(value), spec, body)) return false;
    }
    const std::string sign = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    JinjaValue shown, fill;
    if (spec.align != '=') {
        return jinja_copy(run, text(sign, prefix, body), number.is_trusted, shown) &&
               append_jinja_padded(run, shown, spec, '>', out);
    }
    const auto length = static_cast<std::int64_t>(sign.size() + prefix.size() + body.size());
    return out.append(text(sign, prefix), number.is_trusted) && jinja_copy(run, spec.fill, number.is_trusted, fill) &&
           (spec.width <= length || out.append_repeated(fill, static_cast<std::size_t>(spec.width - length))) &&
           out.append(body, number.is_trusted);
}

bool append_jinja_padded(JinjaRun& run, const JinjaValue& text, const JinjaFormatSpec& spec, char own_align,
                         JinjaTextBuilder& out) {
    JinjaValue fill;
    if (!run.step_bytes(text.size)) return false;
    const std::int64_t missing = spec.width - static_cast<std::int64_t>(jinja_character_count(jinja_text(text)));
    if (missing <= 0) return out.append(text);
    const char align = spec.align == '\0' || spec.align == '=' ? own_align : spec.align;
    const std::int64_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
    return jinja_copy(run, spec.fill, is_wholly_trusted(text), fill) &&
           out.append_repeated(fill, static_cast<std::size_t>(left)) && out.append(text) &&
           out.append_repeated(fill, static_cast<std::size_t>(missing - left));
}

}  // namespace mixtura
