// The border itself: every exported function's body runs in guard(), which lets no exception out and turns a failure
// into a status and this thread's message.  Inside, failures travel as the exception Failure: a body reads straight
// down.
#pragma once

#include <mixtura/mixtura.h>
#include <mixtura/status.hpp>

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace mixtura::capi {

struct Failure {
    Status status;
};

[[noreturn]] inline void fail(StatusCode code, std::string message) { throw Failure{Status(code, std::move(message))}; }

inline void check(Status status) {
    if (!status.is_ok()) throw Failure{std::move(status)};
}

template <class T>
T take(Result<T>&& result) {
    if (!result) throw Failure{std::move(result).status()};
    return *std::move(result);
}

// Keeps `message` as this thread's last; allocates at most once a thread, and says so in a static text where it cannot.
mixtura_status report(StatusCode code, std::string_view message) noexcept;

template <class Body>
mixtura_status guard(Body&& body) noexcept {
    try {
        body();
        return MIXTURA_OK;
    } catch (const Failure& failure) {
        return report(failure.status.code(), failure.status.message());
    } catch (const std::bad_alloc&) {
        return report(StatusCode::out_of_host_memory, "memory ran out");
    } catch (const std::exception& e) {
        return report(StatusCode::internal, e.what());
    } catch (...) {
        return report(StatusCode::internal, "an exception of an unknown type was thrown");
    }
}

}  // namespace mixtura::capi
