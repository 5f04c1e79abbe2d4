#include "tokenizer/encode.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {

Encoder::Encoder(const Tokenizer::State& state, AddedTokens mode, std::size_t text_bytes)
    : state_(state), cache_(text_bytes) {
    if (mode == AddedTokens::all) {
        raw_ = &state.all_raw;
        normalized_ = &state.all_normalized;
    } else if (mode == AddedTokens::special_only) {
        raw_ = &state.special_raw;
        normalized_ = &state.special_normalized;
    }
    if (raw_ != nullptr && raw_->is_empty()) raw_ = nullptr;
    if (normalized_ != nullptr && normalized_->is_empty()) normalized_ = nullptr;
    // Without a pre-tokenizer the whole text is one word; cutting it where no merge crosses gives the same ids.
    cuts_at_meta_space_ = state.bpe ? state.bpe->splits_at_meta_space() : state.unigram->splits_at_meta_space();
}

Status Encoder::encode(const Word& text, std::vector<TokenId>& ids) {
    ids_ = &ids;
    is_utf8_ = is_utf8(text.text);
    if (raw_ == nullptr) return encode_part(text, true);
    raw_->split(text, state_.added, raw_parts_);
    for (const TextPart& part : raw_parts_) {
        if (part.id >= 0) {
            ids.push_back(part.id);
        } else {
            MIXTURA_RETURN_IF_ERROR(encode_part(text.part(part.begin, part.end), part.begin == 0));
        }
    }
    return {};
}

// Cuts out what is no UTF-8, so that nothing behind this point meets it.
Status Encoder::encode_part(const Word& part, bool is_at_start) {
    if (state_.spm) return encode_sentencepiece(part, is_at_start);
    if (is_utf8_ || is_utf8(part.text)) return encode_valid(part, is_at_start);
    const auto broken_bytes = [&](std::size_t at) {
        std::size_t end = at;
        while (end < part.text.size() && utf8_sequence_bytes(part.text.substr(end)) == 0) ++end;
        return end - at;
    };
    if (state_.bpe && state_.bpe->options().has_byte_symbols) {
        // A byte-level vocabulary spells every byte: a broken run is a word of its own.
        std::size_t begin = 0;
        for (std::size_t at = 0; at < part.text.size();) {
            const std::size_t broken = broken_bytes(at);
            if (broken == 0) {
                at += utf8_length(part.text[at]);
                continue;
            }
            MIXTURA_RETURN_IF_ERROR(encode_valid(part.part(begin, at), is_at_start && begin == 0));
            MIXTURA_RETURN_IF_ERROR(encode_word(part.part(at, at + broken)));
            begin = at += broken;
        }
        return encode_valid(part.part(begin, part.text.size()), is_at_start && begin == 0);
    }
    TracedText repaired;
    for (std::size_t at = 0; at < part.text.size();) {
        const std::size_t length = utf8_sequence_bytes(part.text.substr(at));
        const std::string_view character = length == 0 ? kReplacementCharacter : part.text.substr(at, length);
        repaired.bytes += character;
        if (part.trust != nullptr) repaired.trust.append(character.size(), part.trust[at]);
        at += length == 0 ? 1 : length;
    }
    return encode_valid(repaired.word(), is_at_start);
}

Status Encoder::encode_valid(const Word& part, bool is_at_start) {
    if (part.text.empty()) return {};
    if (state_.normalizer.steps.empty() && normalized_ == nullptr) {
        return state_.pre_tokenizer.run(part, is_at_start, pre_, *this);
    }
    Word text = part;
    if (!state_.normalizer.steps.empty()) {
        normalised_.bytes = part.text;
        normalised_.trust.assign(part.trust != nullptr ? part.trust : "", part.trust != nullptr ? part.text.size() : 0);
        MIXTURA_RETURN_IF_ERROR(state_.normalizer.apply(normalised_, regex_));
        text = normalised_.word();
    }
    if (normalized_ == nullptr) return state_.pre_tokenizer.run(text, is_at_start, pre_, *this);
    normalized_->split(text, state_.added, parts_);
    for (const TextPart& found : parts_) {
        if (found.id >= 0) {
            ids_->push_back(found.id);
        } else {
            MIXTURA_RETURN_IF_ERROR(state_.pre_tokenizer.run(text.part(found.begin, found.end),
                                                             is_at_start && found.begin == 0, pre_, *this));
        }
    }
    return {};
}

Status Encoder::encode_sentencepiece(const Word& part, bool is_at_start) {
    const SpmNormalizer& spm = *state_.spm;
    MIXTURA_RETURN_IF_ERROR(spm.apply(part, is_at_start || state_.prefixes_every_part, normalised_));
    const Word text = normalised_.word();
    unigram_.score_so_far = 0;
    unigram_.is_after_unknown = false;
    if (!state_.bpe || spm.user_defined.is_empty()) return encode_cut(text);
    // User-defined pieces are whole: nothing merges with them.
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.text.size();) {
        const ByteTrie::Match match =
            spm.user_defined.may_start_with(text.text[at]) ? spm.user_defined_at(text, at) : ByteTrie::Match{};
        if (match.length == 0) {
            at += utf8_length(text.text[at]);
            continue;
        }
        MIXTURA_RETURN_IF_ERROR(encode_cut(text.part(begin, at)));
        ids_->push_back(match.value);
        begin = at += match.length;
    }
    return encode_cut(text.part(begin, text.text.size()));
}

// A word of the pre-tokenizer.
Status Encoder::take(const Word& word) { return encode_cut(word); }

Status Encoder::encode_cut(const Word& word) {
    if (!cuts_at_meta_space_ || (state_.unigram && !state_.spm)) return encode_word(word);
    std::size_t begin = 0;
    for (std::size_t at = word.text.find(kMetaSpace); at != std::string_view::npos;
         at = word.text.find(kMetaSpace, at + kMetaSpace.size())) {
        if (at == begin || word.text.substr(0, at).ends_with(kMetaSpace)) continue;
        MIXTURA_RETURN_IF_ERROR(encode_word(word.part(begin, at)));
        begin = at;
    }
    return encode_word(word.part(begin, word.text.size()));
}

Status Encoder::encode_word(const Word& word) {
    if (word.text.empty()) return {};
    // SentencePiece's Unigram sums scores along the text, so one word's path depends on what came before.
    const bool is_cached = !(state_.unigram && state_.spm);
    const std::size_t before = ids_->size();
    if (!is_cached || !cache_.find(word.text, *ids_)) {
        const float score_before = unigram_.score_so_far;
        const bool unknown_before = unigram_.is_after_unknown;
        MIXTURA_RETURN_IF_ERROR(run_model({word.text, nullptr}));
        if (is_cached) {
            cache_.put(word.text, ids_->data() + before, ids_->size() - before);
        } else if (word.is_restricted() && makes_marker(before)) {
            unigram_.score_so_far = score_before;
            unigram_.is_after_unknown = unknown_before;
        }
    }
    // Untrusted text that makes a marker token, by whatever way, is encoded again with those tokens out of reach.
    if (word.is_restricted() && makes_marker(before)) {
        ids_->resize(before);
        return run_model(word);
    }
    return {};
}

bool Encoder::makes_marker(std::size_t first_id) const {
    for (std::size_t i = first_id; i < ids_->size(); ++i) {
        if (state_.vocabulary.has((*ids_)[i], kTokenMarker | kTokenUnknown)) return true;
    }
    return false;
}

Status Encoder::run_model(const Word& word) {
    if (state_.bpe) {
        state_.bpe->encode(word, bpe_, *ids_);
        return {};
    }
    return state_.unigram->encode(word, unigram_, *ids_);
}

}  // namespace mixtura
