// Characters as Python's str methods see them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mixtura {

bool python_is_space(std::uint32_t code_point);
bool python_is_alpha(std::uint32_t code_point);
bool python_is_decimal(std::uint32_t code_point);
bool python_is_digit(std::uint32_t code_point);
bool python_is_numeric(std::uint32_t code_point);
bool python_is_alphanumeric(std::uint32_t code_point);
bool python_is_lower(std::uint32_t code_point);
bool python_is_upper(std::uint32_t code_point);
bool python_is_title(std::uint32_t code_point);
bool python_is_cased(std::uint32_t code_point);           // has an upper, lower or title form, or is one
bool python_is_case_ignorable(std::uint32_t code_point);  // what a final sigma looks past
bool python_is_printable(std::uint32_t code_point);       // shown as it is by repr()

// One character in another case: up to three characters, 0 behind the last.
using PythonCase = std::array<std::uint32_t, 4>;
PythonCase python_upper(std::uint32_t code_point);
PythonCase python_lower(std::uint32_t code_point);  // without the final sigma, which depends on its neighbours
PythonCase python_title(std::uint32_t code_point);
PythonCase python_folded(std::uint32_t code_point);

// Bytes without the white space (Python's, all of Unicode's) at their start or end.
std::string_view without_leading_space(std::string_view bytes);
std::string_view without_trailing_space(std::string_view bytes);

}  // namespace mixtura
