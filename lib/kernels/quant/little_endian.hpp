// Multi-byte fields of weight files: little-endian, at any address.  Every reader and writer of a packed format goes
// through here, so that unaligned input and a big-endian host are nobody's special case.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mixtura {

// An unsigned field inside a block struct: bytes only, so that the struct has alignment 1 and no padding.
struct Le16 {
    std::uint8_t bytes[2];

    constexpr std::uint16_t value() const noexcept { return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8); }
    static constexpr Le16 from(std::uint16_t value) noexcept {
        return {{static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8)}};
    }
};

struct Le32 {
    std::uint8_t bytes[4];

    constexpr std::uint32_t value() const noexcept {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[i]) << 8 * i;
        return value;
    }
    static constexpr Le32 from(std::uint32_t value) noexcept {
        Le32 field{};
        for (unsigned i = 0; i < 4; ++i) field.bytes[i] = static_cast<std::uint8_t>(value >> 8 * i);
        return field;
    }
};

struct Le64 {
    std::uint8_t bytes[8];

    constexpr std::uint64_t value() const noexcept {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
        return value;
    }
};

// The field number `index` of an array of such fields (or of blocks made of them) that starts at `bytes`.
template <class Field>
Field load_field(const std::byte* bytes, std::size_t index = 0) noexcept {
    static_assert(alignof(Field) == 1, "a field is bytes only, so that sizeof is its size in the file");
    Field field;
    std::memcpy(&field, bytes + index * sizeof(Field), sizeof(Field));
    return field;
}

template <class Field>
void store_field(std::byte* bytes, std::size_t index, const Field& field) noexcept {
    static_assert(alignof(Field) == 1, "a field is bytes only, so that sizeof is its size in the file");
    std::memcpy(bytes + index * sizeof(Field), &field, sizeof(Field));
}

inline float load_f32(const std::byte* bytes, std::size_t index = 0) noexcept {
    return std::bit_cast<float>(load_field<Le32>(bytes, index).value());
}

}  // namespace mixtura
