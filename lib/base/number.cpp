#include "base/number.hpp"

#include <algorithm>

namespace mixtura {

std::string format_shortest(double value) {
    char buffer[32];  // 17 digits, sign, point and a four-digit exponent take 24
    const auto [end, failure] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, end);
}

std::string format_fixed(double value, int decimals) {
    char buffer[352];  // 309 digits before the point at most, 17 behind it
    const auto [end, failure] =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, std::clamp(decimals, 0, 17));
    return std::string(buffer, end);
}

std::optional<double> parse_double(std::string_view digits) noexcept {
    double value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

}  // namespace mixtura
