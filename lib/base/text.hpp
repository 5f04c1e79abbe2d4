// Text from parts, for messages and reports, without streams and without the host's locale.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/number.hpp"

namespace mixtura {
namespace detail {

inline void append(std::string& out, std::string_view part) { out += part; }
inline void append(std::string& out, const char* part) { out += part; }
inline void append(std::string& out, char part) { out += part; }
template <std::integral T>
void append(std::string& out, T part) {
    append_integer(out, part);
}
template <std::floating_point T>
void append(std::string& out, T part) {
    out += format_shortest(static_cast<double>(part));
}

}  // namespace detail

// text("shard ", 3, " of ", count): the parts one after another.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::string out;
    (detail::append(out, parts), ...);
    return out;
}

// Bytes from a file or a caller, safe to show in a message or on a terminal: in single quotes, control bytes and broken
// UTF-8 as \xNN, cut after `bytes_max` bytes (with "…").
std::string quoted(std::string_view untrusted, std::size_t bytes_max = 80);
// For a std::string argument, std::quoted (a template found by argument-dependent look-up wherever <iomanip> is in)
// would be the better match; these are as good, and no templates.
inline std::string quoted(const std::string& untrusted, std::size_t bytes_max = 80) {
    return quoted(std::string_view(untrusted), bytes_max);
}
inline std::string quoted(std::string& untrusted, std::size_t bytes_max = 80) {
    return quoted(std::string_view(untrusted), bytes_max);
}
inline std::string quoted(const char* untrusted, std::size_t bytes_max = 80) {
    return quoted(std::string_view(untrusted), bytes_max);
}

// True when `bytes` is well-formed UTF-8 (RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF).
bool is_utf8(std::string_view bytes) noexcept;

// Length in bytes of the well-formed UTF-8 sequence that `bytes` starts with; 0 when there is none.
std::size_t utf8_sequence_bytes(std::string_view bytes) noexcept;

}  // namespace mixtura
