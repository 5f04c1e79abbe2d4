#include "tokenizer/lossy_utf8.hpp"

#include "base/text.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {

std::size_t incomplete_prefix_bytes(std::string_view bytes) noexcept {
    // The longest proper prefix of a sequence has 3 bytes.  Filling up with the smallest and the largest continuation
    // tells whether some continuation completes it.
    for (std::size_t length = bytes.size() < 3 ? bytes.size() : 3; length > 0; --length) {
        for (const char fill : {'\x80', '\xBF'}) {
            char sequence[4] = {fill, fill, fill, fill};
            for (std::size_t i = 0; i < length; ++i) sequence[i] = bytes[i];
            if (utf8_sequence_bytes({sequence, 4}) > length) return length;
        }
    }
    return 0;
}

void take_whole_utf8(std::string& held, std::string& out) {
    std::size_t at = 0;
    while (at < held.size()) {
        const std::string_view rest = std::string_view(held).substr(at);
        const std::size_t length = utf8_sequence_bytes(rest);
        if (length > 0) {
            out.append(rest, 0, length);
            at += length;
            continue;
        }
        const std::size_t incomplete = incomplete_prefix_bytes(rest);
        if (incomplete == rest.size()) break;
        out += kReplacementCharacter;
        at += incomplete > 0 ? incomplete : 1;
    }
    held.erase(0, at);
}

void take_all_utf8(std::string& held, std::string& out) {
    take_whole_utf8(held, out);
    if (!held.empty()) out += kReplacementCharacter;
    held.clear();
}

}  // namespace mixtura
