#include "base/small_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace mixtura {

std::optional<std::string> read_small_file(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::string content(64 << 10, '\0');
    std::size_t used = 0;
    while (used < content.size()) {
        const ssize_t got = ::read(fd, content.data() + used, content.size() - used);
        if (got <= 0) break;
        used += static_cast<std::size_t>(got);
    }
    ::close(fd);
    content.resize(used);
    return content;
}

std::string_view trimmed(std::string_view line) noexcept {
    constexpr std::string_view kSpace = " \t\n";
    const std::size_t first = line.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(kSpace) + 1 - first);
}

std::vector<std::string_view> split(std::string_view content, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t at = content.find(separator);
        parts.push_back(content.substr(0, at));
        if (at == std::string_view::npos) return parts;
        content.remove_prefix(at + 1);
    }
}

std::optional<std::string_view> value_of(std::string_view content, std::string_view key) noexcept {
    while (!content.empty()) {
        const std::string_view line = content.substr(0, content.find('\n'));
        content.remove_prefix(std::min(line.size() + 1, content.size()));
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
            return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

}  // namespace mixtura
