// The sink and who may call it.  Readers hold a shared lock while the sink runs, so that set_log_sink() can promise
// that the old one is done with.
#include "observe/log.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace mixtura {
namespace {

std::atomic<std::int32_t> max_level_now{0};  // first, without the lock: what nobody listens to costs one load
std::shared_mutex sink_mutex;
LogSink sink_now = nullptr;
void* user_data_now = nullptr;

}  // namespace

void set_log_sink(LogSink sink, void* user_data, LogLevel max_level) noexcept {
    const std::unique_lock lock(sink_mutex);
    sink_now = sink;
    user_data_now = user_data;
    max_level_now.store(sink == nullptr ? 0 : static_cast<std::int32_t>(max_level), std::memory_order_relaxed);
}

bool is_logged(LogLevel level) noexcept {
    return static_cast<std::int32_t>(level) <= max_level_now.load(std::memory_order_relaxed);
}

void send_to_log(LogLevel level, const char* room, const std::string& message, const char* file, int line) noexcept {
    const std::shared_lock lock(sink_mutex);
    if (sink_now != nullptr && is_logged(level))
        sink_now(static_cast<std::int32_t>(level), room, message.c_str(), file, line, user_data_now);
}

}  // namespace mixtura
