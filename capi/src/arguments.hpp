// Arguments in and results out, by the rules of mixtura.h: pointers that must be there, structures that carry their
// size, texts and arrays into the caller's buffer.
#pragma once

#include "guard.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace mixtura::capi {

// What `pointer` points to; INVALID_ARGUMENT naming the argument where it is NULL.
template <class T>
T& given(T* pointer, const char* name) {
    if (pointer == nullptr) fail(StatusCode::invalid_argument, std::string(name) + " is NULL");
    return *pointer;
}

template <class T>
std::span<T> array(T* values, std::size_t count, const char* name) {
    if (values == nullptr && count > 0)
        fail(StatusCode::invalid_argument, std::string(name) + " is NULL, but its count is " + std::to_string(count));
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T))
        fail(StatusCode::invalid_argument, std::string(name) + " has an impossible count of " + std::to_string(count));
    return {values, count};
}

inline std::string_view text_of(const char* utf8, std::size_t bytes, const char* name) {
    const std::span<const char> text = array(utf8, bytes, name);
    return {text.data(), text.size()};
}

// An enumerator that came as a number.
template <class Enum>
Enum enum_of(std::int32_t value, Enum last, const char* name) {
    if (value < 0 || value > static_cast<std::int32_t>(last)) {
        fail(StatusCode::invalid_argument, std::string(name) + " is " + std::to_string(value) + ", expected 0 to " +
                                               std::to_string(static_cast<std::int32_t>(last)));
    }
    return static_cast<Enum>(value);
}

// OUT_OF_RANGE: "index is 5, but there are 3 tensors".
inline void check_index(std::size_t index, std::size_t count, const char* name, const char* things) {
    if (index >= count) {
        fail(StatusCode::out_of_range, std::string(name) + " is " + std::to_string(index) + ", but there are " +
                                           std::to_string(count) + " " + things);
    }
}

// The size each structure had when it was first released, and can never be smaller than: see first_sizes.hpp.
template <class T>
inline constexpr std::size_t kFirstSize = 0;

template <class T>
std::size_t checked_size(const T& given, const char* name) {
    static_assert(kFirstSize<T> > 0, "a structure with a struct_size has a line in first_sizes.hpp");
    if (given.struct_size < kFirstSize<T>) {
        fail(StatusCode::invalid_argument, std::string(name) + ".struct_size is " + std::to_string(given.struct_size) +
                                               ", expected " + std::to_string(kFirstSize<T>) +
                                               " or more: start the structure from its _INIT value");
    }
    return given.struct_size;
}

// A caller's option structure as this library knows it.  What an older caller's lacks keeps `defaults`; what a newer
// caller's has beyond ours must be zero, that is, not used.
template <class T>
T options_of(const T* given, const T& defaults, const char* name) {
    if (given == nullptr) return defaults;
    const std::size_t size = checked_size(*given, name);
    T ours = defaults;
    std::memcpy(&ours, given, size < sizeof(T) ? size : sizeof(T));
    ours.struct_size = sizeof(T);
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof(T); i < size; ++i) {
        if (bytes[i] != 0) {
            fail(StatusCode::unsupported, std::string(name) + " has something at byte " + std::to_string(i) +
                                              ", beyond the " + std::to_string(sizeof(T)) +
                                              " this version of the library knows; it was made for a newer one");
        }
    }
    return ours;
}

// Fills a caller's structure as far as both know it, and keeps its struct_size.
template <class T>
void give(T* out, T values, const char* name) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t size = checked_size(given(out, name), name);
    values.struct_size = size;
    std::memcpy(out, &values, size < sizeof(T) ? size : sizeof(T));
}

// An array to the caller's buffer: see the rules in mixtura.h.
template <class T, class U>
void give_array(std::span<const T> values, U* out, std::size_t capacity, std::size_t* needed, const char* name) {
    static_assert(sizeof(T) == sizeof(U) && std::is_trivially_copyable_v<T>);
    if (needed != nullptr) *needed = values.size();
    if (capacity == 0) return;
    given(out, name);
    if (values.size() > capacity) {
        fail(StatusCode::buffer_too_small, std::string(name) + " has room for " + std::to_string(capacity) +
                                               ", expected " + std::to_string(values.size()) + " or more");
    }
    if (!values.empty()) std::memcpy(out, values.data(), values.size() * sizeof(T));
}

inline void give_text(std::string_view text, char* out, std::size_t capacity, std::size_t* needed) {
    give_array(std::span<const char>(text.data(), text.size()), out, capacity, needed, "text");
}

// A fresh handle to the caller.
template <class Handle, class... Parts>
void give_handle(Handle** out, Parts&&... parts) {
    given(out, "the place for the result");
    *out = new Handle{std::forward<Parts>(parts)...};
}

}  // namespace mixtura::capi

#include "first_sizes.hpp"
