// Command lines of the benches.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura::bench {

// "q4_k,q8_0" as its parts.
inline std::vector<std::string> listed(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return parts;
}

}  // namespace mixtura::bench
