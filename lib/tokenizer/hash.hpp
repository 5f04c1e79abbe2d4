// Hashes and the flat table of merges: open addressing, linear probing, at most half full, built once and then only
// read. A file chooses the keys, and could choose ones that collide: a key that finds no place within kProbesMax slots
// refuses the file.  (Half-full tables of honest keys stay below 100 slots at a million entries.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace mixtura {

constexpr std::uint64_t mix_hash(std::uint64_t value) noexcept {
    value ^= value >> 32;
    value *= 0x9E3779B97F4A7C15ULL;  // 2^64 divided by the golden ratio
    value ^= value >> 29;
    value *= 0xBF58476D1CE4E5B9ULL;  // splitmix64's second factor
    return value ^ value >> 32;
}

// Eight bytes a step; words are short.
inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
    std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15ULL;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t chunk = 0;
        std::memcpy(&chunk, bytes.data() + at, 8);
        hash = (hash ^ chunk) * 0xBF58476D1CE4E5B9ULL;
        hash ^= hash >> 31;
    }
    std::uint64_t rest = 0;
    for (std::size_t shift = 0; at < bytes.size(); ++at, shift += 8) {
        rest |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at])) << shift;
    }
    hash = (hash ^ rest) * 0xBF58476D1CE4E5B9ULL;
    return hash ^ hash >> 29;
}

// The smallest power of two that keeps `count` entries at most half of the slots.
constexpr std::size_t table_slots(std::size_t count) noexcept {
    std::size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    return slots;
}

inline constexpr std::size_t kProbesMax = 512;
enum class Insertion : std::uint8_t { done, is_there, no_place };

// What merging a pair of symbols gives.
struct Merge {
    std::uint32_t rank = 0;  // lower merges first
    std::int32_t symbol = -1;
};

// (left symbol, right symbol) → Merge.
class PairTable {
  public:
    void reserve(std::size_t count) { slots_.assign(table_slots(count), Slot{}); }

    // is_there: the new entry replaces the old.  The caller has reserved enough.
    Insertion insert(std::int32_t left, std::int32_t right, Merge merge) {
        const std::uint64_t key = key_of(left, right);
        const std::size_t first = mix_hash(key);
        for (std::size_t i = 0; i < kProbesMax; ++i) {
            Slot& slot = slots_[(first + i) & (slots_.size() - 1)];
            if (slot.key != key && slot.key != kEmpty) continue;
            const Insertion insertion = slot.key == key ? Insertion::is_there : Insertion::done;
            slot = {key, merge};
            return insertion;
        }
        return Insertion::no_place;
    }

    // Null where the two do not merge.
    const Merge* find(std::int32_t left, std::int32_t right) const noexcept {
        const std::uint64_t key = key_of(left, right);
        for (std::size_t i = mix_hash(key);; ++i) {
            const Slot& slot = slots_[i & (slots_.size() - 1)];
            if (slot.key == key) return &slot.merge;
            if (slot.key == kEmpty) return nullptr;
        }
    }

  private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair: symbols are not negative
    struct Slot {
        std::uint64_t key = kEmpty;
        Merge merge;
    };
    static std::uint64_t key_of(std::int32_t left, std::int32_t right) noexcept {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    }
    std::vector<Slot> slots_ = std::vector<Slot>(16);
};

}  // namespace mixtura
