// How the library's own code makes and passes on failures.  A lower error is handed on as it is, never replaced.
#pragma once

#include <mixtura/status.hpp>

#include <new>

#include "base/text.hpp"

namespace mixtura {

// error(StatusCode::corrupt_file, "tensor ", quoted(name), " has ", n, " dimensions, expected 1 to 4")
template <class... Parts>
Status error(StatusCode code, const Parts&... parts) {
    return Status(code, text(parts...));
}

// Runs the body of a public function: what std or a third party throws becomes a Status, so that nothing is thrown at
// the host.  `body` returns a Status or a Result.
template <class Body>
auto without_exceptions(Body&& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_host_memory, {});
    } catch (...) {
        return Status(StatusCode::internal, {});
    }
}

}  // namespace mixtura

#define MIXTURA_RETURN_IF_ERROR(expression)                                             \
    do {                                                                                \
        if (::mixtura::Status mixtura_status = (expression); !mixtura_status.is_ok()) { \
            return mixtura_status;                                                      \
        }                                                                               \
    } while (false)

#define MIXTURA_CONCAT_(a, b) a##b
#define MIXTURA_CONCAT(a, b) MIXTURA_CONCAT_(a, b)

// MIXTURA_ASSIGN_OR_RETURN(const File file, File::open(path));
#define MIXTURA_ASSIGN_OR_RETURN(target, expression) \
    MIXTURA_ASSIGN_OR_RETURN_(MIXTURA_CONCAT(mixtura_result_, __LINE__), target, expression)
#define MIXTURA_ASSIGN_OR_RETURN_(result, target, expression) \
    auto result = (expression);                               \
    if (!result.is_ok()) return std::move(result).status();   \
    target = *std::move(result)
