// What the pipeline hands to a model: one word, and which of its bytes may be trusted.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace mixtura {

// `trust` is null where every byte is trusted, else a byte for each of `text`: 1 trusted, 0 not.
struct Word {
    std::string_view text;
    const char* trust = nullptr;

    bool touches_untrusted(std::size_t begin, std::size_t end) const noexcept {
        return trust != nullptr && std::memchr(trust + begin, 0, end - begin) != nullptr;
    }
    bool is_restricted() const noexcept { return touches_untrusted(0, text.size()); }
    Word part(std::size_t begin, std::size_t end) const noexcept {
        return {text.substr(begin, end - begin), trust != nullptr ? trust + begin : nullptr};
    }
};

}  // namespace mixtura
