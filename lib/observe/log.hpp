// MIXTURA_LOG(level, room, parts...): a message for the host's sink, put together only where somebody listens.  Used
// outside hot loops.
#pragma once

#include <mixtura/log.hpp>

#include <string>

#include "base/text.hpp"

namespace mixtura {

bool is_logged(LogLevel level) noexcept;
void send_to_log(LogLevel level, const char* room, const std::string& message, const char* file, int line) noexcept;

// A message that memory lacks for is lost: a log never makes a call fail.
template <class... Parts>
void log_parts(LogLevel level, const char* room, const char* file, int line, const Parts&... parts) noexcept {
    try {
        send_to_log(level, room, text(parts...), file, line);
    } catch (...) {
        send_to_log(level, room, {}, file, line);
    }
}

}  // namespace mixtura

#define MIXTURA_LOG(level, room, ...)                                                                \
    do {                                                                                             \
        if (::mixtura::is_logged(::mixtura::LogLevel::level))                                        \
            ::mixtura::log_parts(::mixtura::LogLevel::level, room, __FILE__, __LINE__, __VA_ARGS__); \
    } while (false)
