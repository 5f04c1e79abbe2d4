#include "tokenizer/decode.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/lossy_utf8.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

using Kind = DecodeStage::Kind;

// What one token may become; tokens are spelled in at most 64 KiB, and published decoders do not lengthen them.
constexpr std::size_t kTokenTextBytesMax = 1 << 20;

Status check_length(std::string_view text) {
    if (text.size() <= kTokenTextBytesMax) return {};
    return error(StatusCode::budget_exceeded, "the vocabulary's decoder makes more than ", kTokenTextBytesMax,
                 " bytes of one token");
}

Status append_replaced(std::string& out, std::string_view text, std::string_view literal, std::string_view content) {
    std::size_t done = 0;
    for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, done)) {
        out.append(text, done, at - done);
        out += content;
        done = at + literal.size();
        MIXTURA_RETURN_IF_ERROR(check_length(out));
    }
    out.append(text, done);
    return {};
}

// The same at every match of `pattern`.
Status append_replaced(std::string& out, std::string_view text, const Regex& pattern, std::string_view content,
                       RegexWorkspace& workspace) {
    std::size_t done = 0;
    MIXTURA_RETURN_IF_ERROR(pattern.for_each_match(text, workspace, [&](std::size_t begin, std::size_t end) {
        out.append(text, done, begin - done);
        out += content;
        done = end;
        return check_length(out);
    }));
    out.append(text, done);
    return {};
}

// How many bytes at the end of `text` may be the beginning of `literal`.
std::size_t overlap_bytes(std::string_view text, std::string_view literal) {
    for (std::size_t length = std::min(text.size(), literal.size() - 1); length > 0; --length) {
        if (text.substr(text.size() - length) == literal.substr(0, length)) return length;
    }
    return 0;
}

}  // namespace

bool DecodePlan::has(DecodeStage::Kind kind) const noexcept {
    return std::any_of(stages.begin(), stages.end(), [&](const DecodeStage& stage) { return stage.kind == kind; });
}

Status check_decode_plan(DecodePlan& plan, std::string_view where) {
    bool is_fused = false;
    for (DecodeStage& stage : plan.stages) {
        stage.is_fused = is_fused;
        if (is_fused && stage.kind == Kind::replace && stage.pattern) {
            return error(StatusCode::unsupported, where,
                         ": a Replace by a regular expression behind a Fuse is not supported");
        }
        if (is_fused && (stage.kind == Kind::byte_fallback || stage.kind == Kind::byte_level)) {
            return error(StatusCode::unsupported, where, ": a ",
                         stage.kind == Kind::byte_level ? "ByteLevel" : "ByteFallback",
                         " behind a Fuse is not supported");
        }
        is_fused = is_fused || stage.kind == Kind::fuse || stage.kind == Kind::byte_level;
    }
    return {};
}

DecodeRun::DecodeRun(const DecodePlan& plan, const Vocabulary& vocabulary, bool skips_special)
    : plan_(plan), vocabulary_(vocabulary), skips_special_(skips_special), states_(plan.stages.size()) {}

Status DecodeRun::push(TokenId id, std::string& out) {
    if (!vocabulary_.contains(id)) return {};  // an id that the vocabulary leaves out decodes to nothing
    if (const auto respelled = plan_.respelled.find(id); respelled != plan_.respelled.end()) {
        // Never skipped: the reference compares the normalised spelling with the special tokens'.
        return feed(0, id, respelled->second, out);
    }
    if (skips_special_ && vocabulary_.has(id, kTokenSpecial)) return {};
    return feed(0, id, vocabulary_.spelling(id), out);
}

Status DecodeRun::finish(std::string& out) {
    for (std::size_t stage = 0; stage < states_.size(); ++stage) MIXTURA_RETURN_IF_ERROR(flush(stage, out));
    states_.assign(states_.size(), {});
    return {};
}

Status DecodeRun::feed(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    if (index == plan_.stages.size()) {
        out += token;
        return {};
    }
    const DecodeStage& stage = plan_.stages[index];
    StageState& state = states_[index];
    switch (stage.kind) {
        case Kind::replace: return feed_replace(index, id, token, out);
        case Kind::byte_fallback: return feed_bytes(index, id, token, out);
        case Kind::fuse: return feed(index + 1, id, token, out);
        case Kind::strip: return feed_strip(index, id, token, out);
        case Kind::byte_level: return feed_byte_level(index, id, token, out);
        case Kind::sentencepiece: return feed_sentencepiece(index, id, token, out);
        case Kind::meta_space: {
            const bool is_first = state.is_at_start;
            if (!stage.is_fused) state.is_at_start = false;
            std::string replaced;
            MIXTURA_RETURN_IF_ERROR(
                append_replaced(replaced, token, stage.literal, is_first && stage.drops_first ? "" : " "));
            return feed(index + 1, id, replaced, out);
        }
        case Kind::join_with_space:
            if (!state.is_at_start) MIXTURA_RETURN_IF_ERROR(feed(index + 1, id, " ", out));
            state.is_at_start = false;
            return feed(index + 1, id, token, out);
    }
    return {};
}

Status DecodeRun::flush(std::size_t index, std::string& out) {
    StageState& state = states_[index];
    switch (plan_.stages[index].kind) {
        case Kind::byte_fallback: return end_byte_run(index, out);
        case Kind::byte_level: {
            std::string text;
            take_all_utf8(state.held, text);
            return text.empty() ? Status() : feed(index + 1, -1, text, out);
        }
        case Kind::sentencepiece:
            for (std::size_t i = 0; i < state.held.size(); ++i) {
                MIXTURA_RETURN_IF_ERROR(feed(index + 1, -1, kReplacementCharacter, out));
            }
            return {};
        case Kind::replace: return state.held.empty() ? Status() : feed(index + 1, -1, state.held, out);
        case Kind::strip: {
            // What is held are as many of the stage's characters as it may take off the end, and more.
            const std::size_t width = plan_.stages[index].literal.size();
            const std::size_t cut = std::min(state.held.size(), plan_.stages[index].stop * width);
            state.held.resize(state.held.size() - cut);
            return state.held.empty() ? Status() : feed(index + 1, -1, state.held, out);
        }
        default: return {};
    }
}

Status DecodeRun::feed_replace(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    const DecodeStage& stage = plan_.stages[index];
    std::string replaced;
    if (!stage.is_fused) {
        MIXTURA_RETURN_IF_ERROR(stage.pattern ? append_replaced(replaced, token, *stage.pattern, stage.content, regex_)
                                              : append_replaced(replaced, token, stage.literal, stage.content));
        return feed(index + 1, id, replaced, out);
    }
    // One token of all: a match may lie across two pushes, so its possible beginning is held.
    std::string& held = states_[index].held;
    held += token;
    std::size_t done = 0;
    for (std::size_t at = held.find(stage.literal); at != std::string::npos; at = held.find(stage.literal, done)) {
        replaced.append(held, done, at - done);
        replaced += stage.content;
        done = at + stage.literal.size();
        MIXTURA_RETURN_IF_ERROR(check_length(replaced));
    }
    const std::size_t whole = held.size() - overlap_bytes(std::string_view(held).substr(done), stage.literal);
    replaced.append(held, done, whole - done);
    held.erase(0, whole);
    return replaced.empty() ? Status() : feed(index + 1, id, replaced, out);
}

Status DecodeRun::end_byte_run(std::size_t index, std::string& out) {
    std::string run;
    run.swap(states_[index].held);
    if (run.empty()) return {};
    if (is_utf8(run)) return feed(index + 1, -1, run, out);
    for (std::size_t i = 0; i < run.size(); ++i)
        MIXTURA_RETURN_IF_ERROR(feed(index + 1, -1, kReplacementCharacter, out));
    return {};
}

Status DecodeRun::feed_bytes(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    if (const int byte = byte_token_value(token); byte >= 0) {
        states_[index].held.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
        return {};
    }
    MIXTURA_RETURN_IF_ERROR(end_byte_run(index, out));
    return feed(index + 1, id, token, out);
}

Status DecodeRun::feed_strip(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    const DecodeStage& stage = plan_.stages[index];
    StageState& state = states_[index];
    if (!stage.is_fused) state = {};
    std::string_view rest = token;
    while (state.is_at_start && !rest.empty()) {
        if (state.count >= stage.start || !rest.starts_with(stage.literal)) {
            state.is_at_start = false;
        } else {
            rest.remove_prefix(stage.literal.size());
            ++state.count;
        }
    }
    if (!stage.is_fused) {
        for (std::size_t i = 0; i < stage.stop && rest.ends_with(stage.literal); ++i) {
            rest.remove_suffix(stage.literal.size());
        }
        return feed(index + 1, id, rest, out);
    }
    if (stage.stop == 0) return feed(index + 1, id, rest, out);
    // Hold the last `stop` characters as long as they are the stage's; one token of all may end here.
    state.held += rest;
    std::size_t tail = 0;
    while (tail < stage.stop * stage.literal.size() &&
           std::string_view(state.held).substr(0, state.held.size() - tail).ends_with(stage.literal)) {
        tail += stage.literal.size();
    }
    const std::string whole = state.held.substr(0, state.held.size() - tail);
    state.held.erase(0, whole.size());
    return whole.empty() ? Status() : feed(index + 1, id, whole, out);
}

Status DecodeRun::feed_byte_level(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    const DecodeStage& stage = plan_.stages[index];
    std::string& held = states_[index].held;
    const bool is_plain =
        stage.keeps_flagged && id >= 0 && vocabulary_.has(id, kTokenSpecial | kTokenUserDefined | kTokenUnknown);
    if (is_plain || !append_letter_bytes(held, token)) held += token;
    std::string whole;
    take_whole_utf8(held, whole);
    return whole.empty() ? Status() : feed(index + 1, id, whole, out);
}

Status DecodeRun::feed_sentencepiece(std::size_t index, TokenId id, std::string_view token, std::string& out) {
    StageState& state = states_[index];
    const SentencePieceDecoding& rules = plan_.sentencepiece;
    const auto show = [&](std::string_view text) {
        state.is_at_start = state.is_at_start && text.empty();
        return feed(index + 1, id, text, out);
    };
    if (vocabulary_.has(id, kTokenByte)) {
        state.held.push_back(static_cast<char>(static_cast<unsigned char>(byte_token_value(token))));
        std::string whole;
        std::string_view rest = state.held;
        // Unlike a byte-level vocabulary, every byte of a broken sequence is a U+FFFD of its own.
        while (!rest.empty()) {
            const std::size_t length = utf8_sequence_bytes(rest);
            if (length == 0 && incomplete_prefix_bytes(rest) == rest.size()) break;
            whole += length == 0 ? kReplacementCharacter : rest.substr(0, length);
            rest.remove_prefix(std::max<std::size_t>(length, 1));
        }
        state.held.erase(0, state.held.size() - rest.size());
        return show(whole);
    }
    for (std::size_t broken = state.held.size(); broken > 0; --broken) {
        MIXTURA_RETURN_IF_ERROR(show(kReplacementCharacter));
    }
    state.held.clear();
    if (vocabulary_.has(id, kTokenUnknown)) return show(rules.unknown_surface);
    if (vocabulary_.has(id, kTokenSpecial)) return show(token);
    if (rules.strips_leading && state.is_at_start && token.starts_with(kMetaSpace)) {
        token.remove_prefix(kMetaSpace.size());
        // Once, of the first token; or of every token until something shows.
        state.is_at_start = rules.strips_all_leading;
    }
    std::string replaced;
    MIXTURA_RETURN_IF_ERROR(append_replaced(replaced, token, kMetaSpace, " "));
    return show(replaced);
}

Result<std::string> bytes_of_token(const DecodePlan& plan, const Vocabulary& vocabulary, TokenId id) {
    std::string bytes(vocabulary.spelling(id));
    if (vocabulary.has(id, kTokenSpecial)) return bytes;
    if (const auto respelled = plan.respelled.find(id); respelled != plan.respelled.end()) bytes = respelled->second;
    RegexWorkspace regex;
    for (const DecodeStage& stage : plan.stages) {
        std::string next;
        switch (stage.kind) {
            case Kind::sentencepiece:
            case Kind::byte_fallback:
                if (const int byte = byte_token_value(bytes);
                    byte >= 0 && (stage.kind == Kind::byte_fallback || vocabulary.has(id, kTokenByte))) {
                    return std::string(1, static_cast<char>(static_cast<unsigned char>(byte)));
                }
                if (stage.kind == Kind::byte_fallback) continue;
                MIXTURA_RETURN_IF_ERROR(append_replaced(next, bytes, kMetaSpace, " "));
                break;
            case Kind::meta_space: MIXTURA_RETURN_IF_ERROR(append_replaced(next, bytes, stage.literal, " ")); break;
            case Kind::replace:
                MIXTURA_RETURN_IF_ERROR(stage.pattern
                                            ? append_replaced(next, bytes, *stage.pattern, stage.content, regex)
                                            : append_replaced(next, bytes, stage.literal, stage.content));
                break;
            case Kind::byte_level:
                if ((stage.keeps_flagged && vocabulary.has(id, kTokenUserDefined | kTokenUnknown)) ||
                    !append_letter_bytes(next, bytes)) {
                    next = bytes;
                }
                return next;    // no longer text; nothing behind it works on bytes
            default: continue;  // strip, fuse and join are about neighbours
        }
        bytes = std::move(next);
    }
    return bytes;
}

}  // namespace mixtura
