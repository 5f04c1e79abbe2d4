#include "tokenizer/vocabulary.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tokenizer/hash.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kSpellingBytesMax = 1 << 16;  // the longest published one has 512
constexpr std::size_t kAllBytesMax = std::size_t{1} << 31;

}  // namespace

Status Vocabulary::reserve(std::size_t count, std::int64_t id_max, std::string_view where) {
    const std::size_t allowed = std::min(kSizeMax, 8 * count + 65536);
    if (id_max >= static_cast<std::int64_t>(allowed)) {
        return error(StatusCode::corrupt_file, where, ": a token has the id ", id_max, " among ", count,
                     " tokens, expected one below ", allowed);
    }
    grow_index(count);
    return {};
}

void Vocabulary::grow_index(std::size_t count) {
    const std::size_t slots = table_slots(count);
    if (slots <= index_.size()) return;
    index_.assign(slots, -1);
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        if ((tokens_[id].flags & kTokenPresent) == 0) continue;
        // Keys that found a place in the smaller table; a longer probe here is only time.
        std::size_t at = hash_bytes(spelling(static_cast<TokenId>(id))) & (slots - 1);
        while (index_[at] != -1 && spelling(index_[at]) != spelling(static_cast<TokenId>(id)))
            at = (at + 1) & (slots - 1);
        index_[at] = static_cast<TokenId>(id);
    }
}

Status Vocabulary::add(TokenId id, std::string_view spelling_bytes, std::uint16_t flags, std::string_view where,
                       bool may_repeat) {
    if (id < 0 || static_cast<std::size_t>(id) >= kSizeMax) {
        return error(StatusCode::corrupt_file, where, ": the token ", quoted(spelling_bytes), " has the id ", id,
                     ", expected 0 to ", kSizeMax - 1);
    }
    if (spelling_bytes.size() > kSpellingBytesMax || spellings_.size() > kAllBytesMax) {
        return error(StatusCode::corrupt_file, where, ": the token ", id, " is ", spelling_bytes.size(),
                     " bytes long, expected at most ", kSpellingBytesMax);
    }
    if (static_cast<std::size_t>(id) >= tokens_.size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
    if ((tokens_[static_cast<std::size_t>(id)].flags & kTokenPresent) != 0) {
        return error(StatusCode::corrupt_file, where, ": two tokens have the id ", id, ": ", quoted(spelling(id)),
                     " and ", quoted(spelling_bytes));
    }
    if (2 * (present_ + 1) > index_.size()) grow_index(2 * (present_ + 1));
    const std::size_t mask = index_.size() - 1;
    const std::size_t first = hash_bytes(spelling_bytes);
    std::size_t probe = 0;
    for (; probe < kProbesMax; ++probe) {
        const TokenId there = index_[(first + probe) & mask];
        if (there == -1) break;
        if (spelling(there) != spelling_bytes) continue;
        if (may_repeat) break;
        return error(StatusCode::corrupt_file, where, ": the tokens ", there, " and ", id, " have the same spelling ",
                     quoted(spelling_bytes));
    }
    if (probe == kProbesMax) {
        return error(StatusCode::corrupt_file, where,
                     ": the tokens' spellings are chosen so that their hashes collide");
    }
    tokens_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(spellings_.size()),
                                             static_cast<std::uint32_t>(spelling_bytes.size()),
                                             static_cast<std::uint16_t>(flags | kTokenPresent)};
    spellings_ += spelling_bytes;
    index_[(first + probe) & mask] = id;
    ++present_;
    return {};
}

void Vocabulary::set_flags(TokenId id, std::uint16_t add_flags, std::uint16_t clear_flags) noexcept {
    std::uint16_t& flags = tokens_[static_cast<std::size_t>(id)].flags;
    flags = static_cast<std::uint16_t>((flags & ~clear_flags) | add_flags);
}

TokenId Vocabulary::find(std::string_view spelling_bytes) const noexcept {
    const std::size_t mask = index_.size() - 1;
    for (std::size_t at = hash_bytes(spelling_bytes) & mask; index_[at] != -1; at = (at + 1) & mask) {
        if (spelling(index_[at]) == spelling_bytes) return index_[at];
    }
    return -1;
}

std::string byte_token_spelling(unsigned byte) {
    constexpr char kHex[] = "0123456789ABCDEF";
    return text("<0x", kHex[byte >> 4 & 0xF], kHex[byte & 0xF], '>');
}

int byte_token_value(std::string_view spelling) noexcept {
    const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                      : -1;
    };
    if (spelling.size() != 6 || spelling.substr(0, 3) != "<0x" || spelling[5] != '>') return -1;
    const int high = digit(spelling[3]), low = digit(spelling[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace mixtura
