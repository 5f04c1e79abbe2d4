#include "memory/system_error.hpp"

#include <cstring>

namespace mixtura {
namespace {

// strerror_r's two forms (glibc returns the text, POSIX fills the buffer) told apart by overload.
[[maybe_unused]] const char* text_of(const char* returned, const char*) { return returned; }
[[maybe_unused]] const char* text_of(int, const char* buffer) { return buffer; }

}  // namespace

std::string system_error_text(int number) {
    char buffer[128] = "unknown error";
    return text_of(::strerror_r(number, buffer, sizeof buffer), buffer);
}

}  // namespace mixtura
