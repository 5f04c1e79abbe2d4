#include "base/text.hpp"

#include <algorithm>

namespace mixtura {
std::size_t utf8_sequence_bytes(std::string_view bytes) noexcept {
    if (bytes.empty()) return 0;
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((at(i) & 0xC0) != 0x80) return 0;
    }
    const unsigned second = at(1);
    if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
    if (lead == 0xED && second > 0x9F) return 0;  // surrogate
    if (lead == 0xF0 && second < 0x90) return 0;  // overlong
    if (lead == 0xF4 && second > 0x8F) return 0;  // above U+10FFFF
    return length;
}

bool is_utf8(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence_bytes(bytes);
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string quoted(std::string_view untrusted, std::size_t bytes_max) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "'";
    std::size_t used = 0;
    while (used < untrusted.size()) {
        const std::string_view rest = untrusted.substr(used);
        const std::size_t length = utf8_sequence_bytes(rest);
        if (used + std::max<std::size_t>(length, 1) > bytes_max) {
            out += "…";
            break;
        }
        const auto byte = static_cast<unsigned char>(rest[0]);
        // C1 controls (U+0080 to U+009F, lead byte 0xC2) drive some terminals too.
        const bool is_control = (length <= 1 && (byte < 0x20 || byte >= 0x7F)) ||
                                (length == 2 && byte == 0xC2 && static_cast<unsigned char>(rest[1]) < 0xA0);
        if (is_control) {
            for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i) {
                const auto raw = static_cast<unsigned char>(rest[i]);
                out += "\\x";
                out += kHex[raw >> 4];
                out += kHex[raw & 15];
            }
        } else {
            out += rest.substr(0, length);
        }
        used += std::max<std::size_t>(length, 1);
    }
    return out += '\'';
}

}  // namespace mixtura
