// Integer arithmetic that says when it does not fit.  Every size, count and offset that comes from a file goes through
// here; the compiler's builtins are the whole implementation.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <utility>

namespace mixtura {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) noexcept {
    T sum{};
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

template <std::integral T>
constexpr std::optional<T> checked_subtract(T a, T b) noexcept {
    T difference{};
    if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
    return difference;
}

template <std::integral T>
constexpr std::optional<T> checked_multiply(T a, T b) noexcept {
    T product{};
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

// The same number in another integer type, or nothing.
template <std::integral To, std::integral From>
constexpr std::optional<To> checked_cast(From value) noexcept {
    if (!std::in_range<To>(value)) return std::nullopt;
    return static_cast<To>(value);
}

// The next multiple of `alignment` (a power of two) at or above `value`.
template <std::unsigned_integral T>
constexpr std::optional<T> checked_align_up(T value, T alignment) noexcept {
    const std::optional<T> raised = checked_add<T>(value, alignment - 1);
    if (!raised) return std::nullopt;
    return static_cast<T>(*raised & ~(alignment - 1));
}

template <std::unsigned_integral T>
constexpr bool is_power_of_two(T value) noexcept {
    return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace mixtura
