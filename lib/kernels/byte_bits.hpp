// Inside kernels only: bit fields of many bytes at once, eight bytes to a machine word.  What packing and unpacking of
// block formats consists of; the same on every processor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mixtura::detail {

// The same byte in all eight places.
constexpr std::uint64_t in_every_byte(unsigned byte) noexcept { return 0x0101'0101'0101'0101U * (byte & 0xFFU); }

// A word whose lowest byte is the first, as this machine keeps words in memory.
constexpr std::uint64_t in_file_order(std::uint64_t word) noexcept {
    return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

inline std::uint64_t load_word(const void* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

inline void store_word(void* at, std::uint64_t word) noexcept { std::memcpy(at, &word, sizeof word); }

// to[i] = (from[i] >> right & mask) << left, for kCount bytes, a multiple of 8; the field stays within its byte.
template <std::size_t kCount>
void take_bits(const void* from, unsigned right, unsigned mask, unsigned left, void* to) noexcept {
    static_assert(kCount % 8 == 0);
    const std::uint64_t field = in_every_byte(mask);
    for (std::size_t i = 0; i < kCount; i += 8) {
        const std::uint64_t word = load_word(static_cast<const std::byte*>(from) + i);
        store_word(static_cast<std::byte*>(to) + i, (word >> right & field) << left);
    }
}

// The same, into bits of `to` that are 0 so far.
template <std::size_t kCount>
void add_bits(const void* from, unsigned right, unsigned mask, unsigned left, void* to) noexcept {
    static_assert(kCount % 8 == 0);
    const std::uint64_t field = in_every_byte(mask);
    for (std::size_t i = 0; i < kCount; i += 8) {
        const std::uint64_t word = load_word(static_cast<const std::byte*>(from) + i);
        std::byte* at = static_cast<std::byte*>(to) + i;
        store_word(at, load_word(at) | (word >> right & field) << left);
    }
}

}  // namespace mixtura::detail
