// Words seen before in the same call, with their ids: most words of a text repeat.  Direct-mapped, one cache line an
// entry; longer words and words of more ids are not kept.
#pragma once

#include <mixtura/types.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tokenizer/hash.hpp"

namespace mixtura {

class WordCache {
  public:
    // One entry for 8 bytes of text, at most 32768 (2 MiB, the second-level cache's size); none for short texts.
    explicit WordCache(std::size_t text_bytes) {
        std::size_t entries = 1;
        while (entries < kEntriesMax && entries * 8 < text_bytes) entries *= 2;
        if (entries >= kEntriesMin) entries_.resize(entries);
    }

    // Appends the ids of `word` and returns true where they are known.
    bool find(std::string_view word, std::vector<TokenId>& ids) const {
        if (entries_.empty() || word.size() > kWordBytesMax) return false;
        const Entry& entry = entries_[hash_bytes(word) & (entries_.size() - 1)];
        if (entry.length != word.size() || std::memcmp(entry.word.data(), word.data(), word.size()) != 0) return false;
        ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
        return true;
    }

    void put(std::string_view word, const TokenId* ids, std::size_t count) {
        if (entries_.empty() || word.size() > kWordBytesMax || count > kIdsMax) return;
        Entry& entry = entries_[hash_bytes(word) & (entries_.size() - 1)];
        entry.length = static_cast<std::uint8_t>(word.size());
        entry.count = static_cast<std::uint8_t>(count);
        std::memcpy(entry.word.data(), word.data(), word.size());
        std::memcpy(entry.ids.data(), ids, count * sizeof(TokenId));
    }

  private:
    static constexpr std::size_t kEntriesMin = 64, kEntriesMax = 32768;
    static constexpr std::size_t kWordBytesMax = 30, kIdsMax = 8;
    struct alignas(64) Entry {
        std::array<char, kWordBytesMax> word{};
        std::uint8_t length = 255;  // of no word
        std::uint8_t count = 0;
        std::array<TokenId, kIdsMax> ids{};
    };
    static_assert(sizeof(Entry) == 64);
    std::vector<Entry> entries_;
};

}  // namespace mixtura
