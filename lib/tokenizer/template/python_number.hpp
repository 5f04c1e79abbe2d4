// Texts as numbers, as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mixtura {

enum class PythonNumber : std::uint8_t { valid, invalid, too_large };

// White space around, a sign, single underscores between digits; base 0 and 2, 8, 16 with their prefixes.
PythonNumber parse_python_integer(std::string_view text, std::int64_t base, std::int64_t& out);
// Also inf, infinity and nan in any case; beyond a double is infinite.
std::optional<double> parse_python_real(std::string_view text);

}  // namespace mixtura
