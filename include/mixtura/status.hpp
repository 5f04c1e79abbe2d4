// Status and Result: how every fallible function of mixtura reports.  No exception crosses this library's surface; a
// failure is a value with a code a program can branch on and a sentence a person can act on (what, where, expected,
// found).  Both types are plain values: copy them, move them between threads, keep them as long as you like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mixtura {

// The numbers are permanent and equal to the C header's mixtura_status; gaps of ten keep kin together for ever.
// 0 is success, below 0 an error, above 0 an outcome that is no error.  Treat a code you do not know by its sign.
enum class StatusCode : std::int32_t {
    ok = 0,
    end_of_stream = 1,
    would_block = 2,

    internal = -1,
    out_of_host_memory = -2,
    out_of_device_memory = -3,
    budget_exceeded = -4,

    invalid_argument = -10,
    out_of_range = -11,
    buffer_too_small = -12,
    unsupported = -13,
    version_mismatch = -14,

    io = -20,
    not_found = -21,
    corrupt_file = -22,
    unknown_format = -23,
    unknown_architecture = -24,

    bad_state = -30,
    cancelled = -31,
    callback_stopped = -32,
    timeout = -33,

    device = -40,
    device_lost = -41,
    no_backend = -42,

    comm = -50,
    peer_lost = -51,
};

// The identifier of a code ("CORRUPT_FILE"); "UNKNOWN" for a number this version does not know.  Static storage.
// Threads: any-thread.
std::string_view status_name(StatusCode code) noexcept;

class [[nodiscard]] Status {
  public:
    Status() noexcept = default;  // ok
    Status(StatusCode code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

    bool is_ok() const noexcept { return code_ == StatusCode::ok; }
    explicit operator bool() const noexcept { return is_ok(); }
    StatusCode code() const noexcept { return code_; }

    // One sentence, UTF-8, without a trailing full stop or newline; the code's name where memory for a sentence was
    // lacking; empty for ok.  Lives as long as this Status.
    std::string_view message() const noexcept {
        return message_.empty() && !is_ok() ? status_name(code_) : std::string_view(message_);
    }

  private:
    StatusCode code_ = StatusCode::ok;
    std::string message_;
};

// A T or the Status that says why there is none.  Reading the value of a failed Result is a programming error.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) noexcept : value_(std::move(value)) {}            // NOLINT: implicit by design, `return value;`
    Result(Status failure) noexcept : status_(std::move(failure)) {}  // NOLINT: implicit by design, `return status;`

    bool is_ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return is_ok(); }
    const Status& status() const& noexcept { return status_; }
    Status status() && noexcept { return std::move(status_); }

    T& operator*() & noexcept { return *value_; }
    const T& operator*() const& noexcept { return *value_; }
    T&& operator*() && noexcept { return *std::move(value_); }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }

  private:
    std::optional<T> value_;
    Status status_;
};

}  // namespace mixtura
