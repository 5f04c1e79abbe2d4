#include "tokenizer/added_tokens.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

// The last character of `text`; it may be no UTF-8, which counts as no character.
CodePoint last_code_point(std::string_view text) {
    for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
        const std::string_view tail = text.substr(text.size() - length);
        if (utf8_sequence_bytes(tail) == length) return code_point_at(tail, 0);
    }
    return {0, 0};
}

CodePoint first_code_point(std::string_view text) {
    return utf8_sequence_bytes(text) == 0 ? CodePoint{0, 0} : code_point_at(text, 0);
}

bool is_word(CodePoint point) { return point.length != 0 && is_word_character(point.value); }
bool is_space(CodePoint point) { return point.length != 0 && is_white_space(point.value); }

}  // namespace

bool is_all_space(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = first_code_point(text.substr(at));
        if (point.length == 0 || !(is_white_space(point.value) || point.value == 0x2581)) return false;
        at += point.length;
    }
    return !text.empty();
}

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens, bool is_normalized, bool only_special) {
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    is_plain_space_.resize(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const AddedToken& token = tokens[i];
        if (token.is_normalized != is_normalized || (only_special && !token.is_special)) continue;
        const std::string& key = is_normalized ? token.normalized_content : token.content;
        is_plain_space_[i] = !token.is_special && is_all_space(token.content);
        if (key.empty()) continue;
        has_only_first_ = entries.empty() || (has_only_first_ && key[0] == only_first_);
        only_first_ = key[0];
        entries.emplace_back(key, static_cast<std::int32_t>(i));
    }
    trie_ = ByteTrie(std::move(entries));
}

void AddedTokenMatcher::split(const Word& text, const std::vector<AddedToken>& tokens,
                              std::vector<TextPart>& parts) const {
    parts.clear();
    const std::string_view bytes = text.text;
    std::size_t done = 0;                        // everything before is in a part
    std::size_t space_begin = 0, space_end = 0;  // the last run of white space that was walked, so that none is twice
    for (std::size_t at = 0; at < bytes.size();) {
        if (has_only_first_) {
            const void* next = std::memchr(bytes.data() + at, only_first_, bytes.size() - at);
            if (next == nullptr) break;
            at = static_cast<std::size_t>(static_cast<const char*>(next) - bytes.data());
        } else if (!trie_.may_start_with(bytes[at])) {
            ++at;
            continue;
        }
        ByteTrie::Match match;
        trie_.for_each_prefix(bytes.substr(at), [&](std::size_t length, std::int32_t index) {
            const bool is_allowed =
                is_plain_space_[static_cast<std::size_t>(index)] || !text.touches_untrusted(at, at + length);
            if (is_allowed) match = {length, index};
        });
        if (match.length == 0) {
            ++at;
            continue;
        }
        const AddedToken& token = tokens[static_cast<std::size_t>(match.value)];
        std::size_t begin = at, end = at + match.length;
        at = end;  // also after a match that is turned down
        if (token.is_single_word &&
            (is_word(last_code_point(bytes.substr(0, begin))) || is_word(first_code_point(bytes.substr(end))))) {
            continue;
        }
        if (token.strips_left) {
            for (CodePoint point; begin > done && is_space(point = last_code_point(bytes.substr(0, begin)));) {
                begin -= point.length;
            }
            begin = std::max(begin, done);
        }
        if (token.strips_right) {
            if (end < space_begin || end > space_end) {
                space_begin = space_end = end;
                for (CodePoint point; is_space(point = first_code_point(bytes.substr(space_end)));)
                    space_end += point.length;
            }
            end = space_end;
        }
        if (done < begin) parts.push_back({done, begin, -1});
        parts.push_back({begin, end, token.id});
        done = end;
    }
    if (done < bytes.size()) parts.push_back({done, bytes.size(), -1});
}

}  // namespace mixtura
