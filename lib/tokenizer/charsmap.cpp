#include "tokenizer/charsmap.hpp"

#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
constexpr std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200U) >> 6); }
constexpr bool has_value(std::uint32_t unit) { return (unit >> 8 & 1U) != 0; }
constexpr std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }

std::uint32_t read_u32(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
    return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
}

}  // namespace

Result<Charsmap> Charsmap::read(std::string_view blob, std::string_view where) {
    Charsmap map;
    if (blob.empty()) return map;
    if (blob.size() < 4) {
        return error(StatusCode::corrupt_file, where, ": the character map has ", blob.size(),
                     " bytes, expected at least 4");
    }
    const std::uint32_t trie_bytes = read_u32(blob);
    blob.remove_prefix(4);
    if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes >= blob.size()) {
        return error(StatusCode::corrupt_file, where, ": the character map's trie claims ", trie_bytes, " of ",
                     blob.size(), " bytes, expected a multiple of 4 that leaves room for replacements");
    }
    map.units_.reserve(trie_bytes / 4);
    for (std::uint32_t at = 0; at < trie_bytes; at += 4) map.units_.push_back(read_u32(blob.substr(at, 4)));
    map.replacements_ = blob.substr(trie_bytes);
    if (map.replacements_.back() != '\0') map.replacements_.push_back('\0');
    return map;
}

std::optional<Charsmap::Match> Charsmap::prefix(std::string_view text, bool is_longest) const noexcept {
    std::optional<Match> best;
    if (units_.empty()) return best;
    std::uint32_t node = offset_of(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
        if (byte == 0) break;  // no key holds a NUL byte
        node ^= byte;
        if (node >= units_.size() || label_of(units_[node]) != byte) break;
        const std::uint32_t unit = units_[node];
        node ^= offset_of(unit);
        if (!has_value(unit)) continue;
        if (node >= units_.size()) break;
        const std::uint32_t start = value_of(units_[node]);
        if (start >= replacements_.size()) break;
        const std::size_t end = replacements_.find('\0', start);
        best = Match{i + 1, std::string_view(replacements_).substr(start, end - start)};
        if (!is_longest) break;
    }
    return best;
}

std::optional<Charsmap::Match> Charsmap::longest_prefix(std::string_view text) const noexcept {
    return prefix(text, true);
}
std::optional<Charsmap::Match> Charsmap::shortest_prefix(std::string_view text) const noexcept {
    return prefix(text, false);
}

std::optional<std::string> decode_base64(std::string_view encoded) {
    const auto digit = [](char c) {
        return c >= 'A' && c <= 'Z'   ? c - 'A'
               : c >= 'a' && c <= 'z' ? c - 'a' + 26
               : c >= '0' && c <= '9' ? c - '0' + 52
               : c == '+'             ? 62
               : c == '/'             ? 63
                                      : -1;
    };
    while (!encoded.empty() && encoded.back() == '=') encoded.remove_suffix(1);
    if (encoded.size() % 4 == 1) return std::nullopt;
    std::string out;
    out.reserve(encoded.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int bit_count = 0;
    for (const char c : encoded) {
        const int value = digit(c);
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> bit_count)));
        bits &= (1U << bit_count) - 1;
    }
    return out;
}

}  // namespace mixtura
