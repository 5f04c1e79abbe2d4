// Numbers to text and back, independent of the host's locale (no printf, no strtod, no streams).
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace mixtura {

template <std::integral T>
void append_integer(std::string& out, T value) {
    char buffer[24];  // 20 digits and a sign hold every 64-bit number
    const auto [end, failure] = std::to_chars(buffer, buffer + sizeof buffer, value);
    out.append(buffer, end);
}

// The shortest decimal text that reads back as the same double; "inf", "-inf", "nan".
std::string format_shortest(double value);

// Fixed notation with `decimals` digits after the point (0 to 17).
std::string format_fixed(double value, int decimals);

// The whole of `digits` as a number, or nothing: no leading space or plus, nothing behind it, nothing out of range.
template <std::integral T>
std::optional<T> parse_integer(std::string_view digits) noexcept {
    T value{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

// As parse_integer, for decimal and exponent notation.  Too large or too small to be a double: nothing.
std::optional<double> parse_double(std::string_view digits) noexcept;

}  // namespace mixtura
