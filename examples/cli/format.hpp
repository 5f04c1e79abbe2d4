// Amounts and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura::cli {

std::string human_bytes(std::uint64_t bytes);   // "271 MB": decimal units, three significant digits
std::string human_count(std::uint64_t count);   // "135 M"
std::string grouped(std::uint64_t number);      // "134,515,008"
std::string decimal(double value, int digits);  // "12.50": so many digits behind the point, whatever the locale

// Bytes of a file or a name, safe on a terminal: control bytes and broken UTF-8 as \xNN.
std::string printable(std::string_view untrusted);

// Rows of cells with two spaces between columns; columns named in `right` are flushed right.  The first row is the
// heading.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view right_columns);

}  // namespace mixtura::cli
