#include "cli/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

std::string human(std::uint64_t amount, std::span<const std::string_view> units, std::string_view plain_unit) {
    if (amount < 1000) return std::to_string(amount) + std::string(plain_unit);
    double value = static_cast<double>(amount) / 1000.0;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000.0;
        ++unit;
    }
    return decimal(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + " " + std::string(units[unit]);
}

// Columns a text takes on a terminal: one per code point is exact for what the tables hold (names, numbers, "…").
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Bytes of the UTF-8 character that `text` starts with; 0 where it starts with none.  What is no character but would
// have one's length and lead (overlong forms, surrogates) shows as a replacement mark at worst.
std::size_t utf8_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    return length;
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
    static constexpr std::array<std::string_view, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
    return human(bytes, kUnits, " B");
}

std::string human_count(std::uint64_t count) {
    static constexpr std::array<std::string_view, 5> kUnits{"K", "M", "B", "T", "Q"};
    return human(count, kUnits, "");
}

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

std::string decimal(double value, int digits) {
    char text[400];  // the largest double has 309 digits
    const auto [end, failure] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
    return failure == std::errc() ? std::string(text, end) : std::string();
}

std::string printable(std::string_view untrusted) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    while (!untrusted.empty()) {
        const std::size_t length = utf8_length(untrusted);
        const auto byte = static_cast<unsigned char>(untrusted[0]);
        // U+0080 to U+009F are the 8-bit control characters, which some terminals obey.
        const bool is_c1 = length == 2 && byte == 0xC2 && static_cast<unsigned char>(untrusted[1]) < 0xA0;
        const std::string_view character = untrusted.substr(0, std::max<std::size_t>(length, 1));
        if (length > 0 && byte >= 0x20 && byte != 0x7F && !is_c1) {
            out += character;
        } else {
            for (const char c : character) {
                out += "\\x";
                out += kHex[static_cast<unsigned char>(c) >> 4];
                out += kHex[c & 15];
            }
        }
        untrusted.remove_prefix(character.size());
    }
    return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view right_columns) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line = "  ";
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const std::string padding(widths[i] - width_of(rows[r][i]), ' ');
            const bool is_right = right_columns.find(static_cast<char>('0' + i)) != std::string_view::npos;
            line += is_right ? padding + rows[r][i] : rows[r][i] + padding;
            line += "  ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += (r == 0 ? bold(line) : line) + "\n";
    }
    return out;
}

}  // namespace mixtura::cli
