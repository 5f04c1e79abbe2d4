#include "tokenizer/state.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

// True for what marks something in a prompt, and so must never come out of untrusted text.
bool is_marker(const Tokenizer::State& state, TokenId id) {
    if (!state.vocabulary.has(id, kTokenAdded | kTokenUserDefined | kTokenSpecial)) return false;
    if (state.vocabulary.has(id, kTokenUnknown)) return false;  // stands for unknown characters, which are no forgery
    if (state.vocabulary.has(id, kTokenSpecial)) return true;
    // White space marks nothing, and vocabularies with tokens for runs of it were trained on texts encoded with them.
    // A single character of the model's own alphabet cannot be spelled in any other way.
    const std::string_view spelling = state.vocabulary.spelling(id);
    const bool is_one_character = !spelling.empty() && utf8_length(spelling[0]) == spelling.size();
    return !is_all_space(spelling) && !(is_one_character && !state.vocabulary.has(id, kTokenOutsideModel));
}

}  // namespace

Status finish_state(Tokenizer::State& state) {
    RegexWorkspace regex;
    for (AddedToken& token : state.added) {
        // SentencePiece shows its unknown piece (" ⁇ "), special or not.
        const bool is_shown = !token.is_special || (state.spm && state.vocabulary.has(token.id, kTokenUnknown));
        state.vocabulary.set_flags(token.id, is_shown ? kTokenAdded : kTokenAdded | kTokenSpecial);
        if (!token.is_normalized) continue;
        TracedText content{token.content, {}};
        MIXTURA_RETURN_IF_ERROR(state.normalizer.apply(content, regex));
        token.normalized_content = std::move(content.bytes);
        // The tokenizers library decodes such a token as the normalised spelling.
        if (token.normalized_content != token.content) state.decode.respelled[token.id] = token.normalized_content;
    }
    for (std::size_t i = 0; i < state.vocabulary.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (is_marker(state, id)) state.vocabulary.set_flags(id, kTokenMarker);
    }
    state.all_raw = AddedTokenMatcher(state.added, false, false);
    state.all_normalized = AddedTokenMatcher(state.added, true, false);
    state.special_raw = AddedTokenMatcher(state.added, false, true);
    state.special_normalized = AddedTokenMatcher(state.added, true, true);
    std::sort(state.end_tokens.begin(), state.end_tokens.end());
    state.end_tokens.erase(std::unique(state.end_tokens.begin(), state.end_tokens.end()), state.end_tokens.end());
    return {};
}

}  // namespace mixtura
