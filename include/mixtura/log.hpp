// The log: what the library has to say that no Status carries, handed to the host's own sink.  Silent until a sink is
// set.  The one process-wide state of this library.
#pragma once

#include <cstdint>

namespace mixtura {

enum class LogLevel : std::int32_t {
    none = 0,
    error = 1,    // something failed that no Status reports
    warning = 2,  // odd, but it goes on
    info = 3,     // a model was opened
    debug = 4,    // decisions
    trace = 5,    // steps
};

// `room` ("model") and `file` are static; `message` (UTF-8, NUL-terminated) is lent for the call.  Called on whatever
// thread the message arises on, also on several at once.  Must not throw, nor call into this library.
using LogSink = void (*)(std::int32_t level, const char* room, const char* message, const char* file, std::int32_t line,
                         void* user_data);

// Sends messages up to `max_level` to `sink`; nullptr: to nobody.  When it returns, the sink set before is not running
// and will not be called again.   Threads: any-thread, but not from a sink.
void set_log_sink(LogSink sink, void* user_data, LogLevel max_level) noexcept;

}  // namespace mixtura
