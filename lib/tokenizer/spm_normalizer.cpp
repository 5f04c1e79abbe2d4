#include "tokenizer/spm_normalizer.hpp"

#include "base/text.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {

ByteTrie::Match SpmNormalizer::user_defined_at(const Word& text, std::size_t at) const {
    ByteTrie::Match longest;
    user_defined.for_each_prefix(text.text.substr(at), [&](std::size_t length, TokenId id) {
        if (!vocabulary->has(id, kTokenMarker) || !text.touches_untrusted(at, at + length)) longest = {length, id};
    });
    return longest;
}

SpmNormalizer::Prefix SpmNormalizer::prefix_of(const Word& text, std::size_t at) const {
    const std::string_view rest = text.text.substr(at);
    if (user_defined.may_start_with(rest[0])) {
        if (const ByteTrie::Match match = user_defined_at(text, at); match.length > 0) {
            return {rest.substr(0, match.length), match.length};
        }
    }
    if (const auto match = charsmap.longest_prefix(rest)) return {match->replacement, match->length};
    const std::size_t length = utf8_sequence_bytes(rest);
    if (length == 0) return {kReplacementCharacter, 1};
    return {rest.substr(0, length), length};
}

Status SpmNormalizer::apply(const Word& text, bool wants_prefix, TracedText& out) const {
    out.bytes.clear();
    out.trust.clear();
    const std::size_t bytes_max = expanded_bytes_max(text.text.size());
    const bool is_traced = text.trust != nullptr;
    const std::string_view space = escapes_spaces ? kMetaSpace : std::string_view(" ");
    const auto put = [&](std::string_view bytes, bool is_trusted) {
        out.bytes += bytes;
        if (is_traced) out.trust.append(bytes.size(), is_trusted ? '\1' : '\0');
    };
    std::size_t at = 0;
    if (removes_extra_spaces) {
        while (at < text.text.size()) {
            const Prefix prefix = prefix_of(text, at);
            if (prefix.replacement != " ") break;
            at += prefix.length;
        }
    }
    if (at == text.text.size()) return {};  // empty, or spaces alone
    out.bytes.reserve(text.text.size() + text.text.size() / 2 + 8);
    if (wants_prefix && adds_dummy_prefix && !puts_space_behind) put(space, true);
    bool is_after_space = removes_extra_spaces;
    while (at < text.text.size()) {
        const Prefix prefix = prefix_of(text, at);
        const bool is_trusted = !text.touches_untrusted(at, at + prefix.length);
        std::string_view replacement = prefix.replacement;
        while (is_after_space && replacement.starts_with(' ')) replacement.remove_prefix(1);
        if (!replacement.empty()) {
            is_after_space = removes_extra_spaces && replacement.ends_with(' ');
            for (std::size_t begin = 0; begin < replacement.size();) {
                const std::size_t end = std::min(replacement.find(' ', begin), replacement.size());
                put(replacement.substr(begin, end - begin), is_trusted);
                if (end < replacement.size()) put(space, is_trusted);
                begin = end + 1;
            }
        }
        at += prefix.length;
        MIXTURA_RETURN_IF_ERROR(check_expansion(out.bytes.size(), bytes_max));
    }
    if (removes_extra_spaces) {
        while (std::string_view(out.bytes).ends_with(space)) {
            out.bytes.resize(out.bytes.size() - space.size());
            if (is_traced) out.trust.resize(out.bytes.size());
        }
    }
    if (wants_prefix && adds_dummy_prefix && puts_space_behind) put(space, true);
    return {};
}

}  // namespace mixtura
