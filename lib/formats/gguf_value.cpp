// Reading numbers, strings and elements back out of a copied metadata value.
#include <cstring>
#include <limits>

#include "formats/gguf.hpp"

namespace mixtura {
namespace {

template <class T>
T load(const char* bytes) {
    T value{};
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

std::optional<std::int64_t> integer_from(GgufType type, const char* bytes) {
    switch (type) {
        case GgufType::u8: return load<std::uint8_t>(bytes);
        case GgufType::i8: return load<std::int8_t>(bytes);
        case GgufType::u16: return load<std::uint16_t>(bytes);
        case GgufType::i16: return load<std::int16_t>(bytes);
        case GgufType::u32: return load<std::uint32_t>(bytes);
        case GgufType::i32: return load<std::int32_t>(bytes);
        case GgufType::i64: return load<std::int64_t>(bytes);
        case GgufType::u64: {
            const auto value = load<std::uint64_t>(bytes);
            if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
            return static_cast<std::int64_t>(value);
        }
        default: return std::nullopt;
    }
}

std::optional<double> real_from(GgufType type, const char* bytes) {
    if (type == GgufType::f32) return load<float>(bytes);
    if (type == GgufType::f64) return load<double>(bytes);
    if (type == GgufType::u64) return static_cast<double>(load<std::uint64_t>(bytes));
    const auto integer = integer_from(type, bytes);
    if (!integer) return std::nullopt;
    return static_cast<double>(*integer);
}

}  // namespace

std::string_view gguf_type_name(GgufType type) noexcept {
    constexpr std::string_view kNames[] = {"uint8",   "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                           "boolean", "string", "array",  "uint64", "int64",  "float64"};
    const auto index = static_cast<std::size_t>(type);
    return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::size_t gguf_type_bytes(GgufType type) noexcept {
    constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const auto index = static_cast<std::size_t>(type);
    return index < std::size(kBytes) ? kBytes[index] : 0;
}

std::optional<std::int64_t> GgufValue::as_integer() const noexcept {
    if (is_array()) return std::nullopt;
    return integer_from(type_, bytes_.data());
}

std::optional<double> GgufValue::as_real() const noexcept {
    if (is_array()) return std::nullopt;
    return real_from(type_, bytes_.data());
}

std::optional<bool> GgufValue::as_boolean() const noexcept {
    if (type_ != GgufType::boolean) return std::nullopt;
    return bytes_[0] != 0;
}

std::optional<std::string_view> GgufValue::as_string() const noexcept {
    if (type_ != GgufType::string) return std::nullopt;
    return std::string_view(bytes_.data(), bytes_.size());
}

std::optional<std::int64_t> GgufValue::integer_at(std::size_t index) const noexcept {
    if (!is_array() || index >= count_) return std::nullopt;
    return integer_from(element_type_, bytes_.data() + index * gguf_type_bytes(element_type_));
}

std::optional<double> GgufValue::real_at(std::size_t index) const noexcept {
    if (!is_array() || index >= count_) return std::nullopt;
    return real_from(element_type_, bytes_.data() + index * gguf_type_bytes(element_type_));
}

std::optional<bool> GgufValue::boolean_at(std::size_t index) const noexcept {
    if (!is_array() || index >= count_ || element_type_ != GgufType::boolean) return std::nullopt;
    return bytes_[index] != 0;
}

std::optional<std::string_view> GgufValue::string_at(std::size_t index) const noexcept {
    if (index >= string_ends_.size()) return std::nullopt;
    const std::size_t begin = index == 0 ? 0 : string_ends_[index - 1];
    return std::string_view(bytes_.data() + begin, string_ends_[index] - begin);
}

const GgufValue* GgufValue::array_at(std::size_t index) const noexcept {
    return index < elements_.size() ? &elements_[index] : nullptr;
}

}  // namespace mixtura
