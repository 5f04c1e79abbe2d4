// The end of a request's output: stop tokens, stop strings, the token limit.  Each stop string is followed by its own
// Knuth-Morris-Pratt automaton, byte by byte, so that the cut of the text into tokens cannot matter and a step costs
// (bytes of the piece) × (number of strings), amortised, whatever the strings are.
#include <mixtura/sampler.hpp>

#include <algorithm>

#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kStringsMax = 1024;
constexpr std::size_t kStringBytesMax = 64 << 10;

struct Pattern {
    std::string bytes;
    std::vector<std::uint32_t> border;  // border[i]: length of the longest proper prefix of bytes that ends bytes[0..i]
    std::uint32_t matched = 0;          // the longest prefix of bytes that the text ends with; below bytes.size()
};

Pattern make_pattern(std::string bytes) {
    Pattern pattern{std::move(bytes), {}, 0};
    pattern.border.resize(pattern.bytes.size(), 0);
    std::uint32_t length = 0;
    for (std::size_t i = 1; i < pattern.bytes.size(); ++i) {
        while (length > 0 && pattern.bytes[i] != pattern.bytes[length]) length = pattern.border[length - 1];
        if (pattern.bytes[i] == pattern.bytes[length]) ++length;
        pattern.border[i] = length;
    }
    return pattern;
}

// True when `byte` completes the pattern.
bool advance(Pattern& pattern, char byte) {
    while (pattern.matched > 0 && pattern.bytes[pattern.matched] != byte) {
        pattern.matched = pattern.border[pattern.matched - 1];
    }
    if (pattern.bytes[pattern.matched] == byte) ++pattern.matched;
    return pattern.matched == pattern.bytes.size();
}

}  // namespace

struct StopMatcher::State {
    std::vector<TokenId> tokens;  // ascending
    std::vector<Pattern> patterns;
    std::optional<std::int64_t> max_tokens;
    std::int64_t accepted_count = 0;
    FinishReason reason = FinishReason::none;
    bool is_finished = false;
    std::string text;  // what the last call showed, then what is held back
    std::size_t shown_bytes = 0;

    void feed(std::string_view piece);
    std::string_view show(std::size_t bytes) {
        shown_bytes = bytes;
        return std::string_view(text).substr(0, bytes);
    }
};

// Takes what was shown off the front, appends the piece and follows it.  A completed stop string cuts the text before
// itself and ends the request.
void StopMatcher::State::feed(std::string_view piece) {
    text.reserve(text.size() + piece.size());  // the only step that can fail comes before any change
    text.erase(0, shown_bytes);
    shown_bytes = 0;
    for (const char byte : piece) {
        text += byte;
        std::size_t longest = 0;
        for (Pattern& pattern : patterns) {
            if (advance(pattern, byte)) longest = std::max(longest, pattern.bytes.size());
        }
        if (longest > 0) {
            text.resize(text.size() - longest);
            reason = FinishReason::stop_string;
            return;
        }
    }
}

std::string_view finish_reason_name(FinishReason reason) noexcept {
    switch (reason) {
        case FinishReason::none: return "none";
        case FinishReason::stop_token: return "stop_token";
        case FinishReason::stop_string: return "stop_string";
        case FinishReason::max_tokens: return "max_tokens";
        case FinishReason::context_full: return "context_full";
        case FinishReason::cancelled: return "cancelled";
        case FinishReason::callback: return "callback";
    }
    return "unknown";
}

Status StopOptions::check() const noexcept {
    return without_exceptions([&]() -> Status {
        if (strings.size() > kStringsMax) {
            return error(StatusCode::invalid_argument, strings.size(), " stop strings are given, expected at most ",
                         kStringsMax);
        }
        for (std::size_t i = 0; i < strings.size(); ++i) {
            if (strings[i].empty()) {
                return error(StatusCode::invalid_argument, "stop string ", i, " is empty, expected at least one byte");
            }
            if (strings[i].size() > kStringBytesMax) {
                return error(StatusCode::invalid_argument, "stop string ", i, " has ", strings[i].size(),
                             " bytes, expected at most ", kStringBytesMax);
            }
        }
        if (max_tokens && *max_tokens < 0) {
            return error(StatusCode::invalid_argument, "max_tokens is ", *max_tokens, ", expected at least 0");
        }
        return {};
    });
}

Result<StopMatcher> StopMatcher::create(StopOptions options) noexcept {
    return without_exceptions([&]() -> Result<StopMatcher> {
        MIXTURA_RETURN_IF_ERROR(options.check());
        auto state = std::make_unique<State>();
        if (options.tokens) state->tokens = *std::move(options.tokens);
        std::sort(state->tokens.begin(), state->tokens.end());
        for (std::string& bytes : options.strings) state->patterns.push_back(make_pattern(std::move(bytes)));
        state->max_tokens = options.max_tokens;
        if (options.max_tokens == 0) state->reason = FinishReason::max_tokens;
        return StopMatcher(std::move(state));
    });
}

bool StopMatcher::is_stop_token(TokenId token) const noexcept {
    return std::binary_search(state_->tokens.begin(), state_->tokens.end(), token);
}

Result<StopMatcher::Step> StopMatcher::accept(TokenId token, std::string_view piece) noexcept {
    return without_exceptions([&]() -> Result<Step> {
        State& s = *state_;
        if (s.reason != FinishReason::none) return Step{{}, s.reason};
        if (s.is_finished) return error(StatusCode::bad_state, "token ", token, " follows the end of its request");
        if (is_stop_token(token)) {
            s.reason = FinishReason::stop_token;
            return Step{{}, s.reason};
        }
        s.feed(piece);
        ++s.accepted_count;
        if (s.reason == FinishReason::stop_string) return Step{s.show(s.text.size()), s.reason};
        if (s.max_tokens && s.accepted_count >= *s.max_tokens) s.reason = FinishReason::max_tokens;
        std::size_t held = 0;
        for (const Pattern& pattern : s.patterns) held = std::max<std::size_t>(held, pattern.matched);
        return Step{s.show(s.text.size() - held), s.reason};
    });
}

Result<StopMatcher::Step> StopMatcher::finish(std::string_view last_piece) noexcept {
    return without_exceptions([&]() -> Result<Step> {
        State& s = *state_;
        s.feed(s.reason == FinishReason::stop_string ? std::string_view() : last_piece);
        s.is_finished = true;
        return Step{s.show(s.text.size()), s.reason};
    });
}

FinishReason StopMatcher::reason() const noexcept { return state_->reason; }
std::int64_t StopMatcher::accepted_count() const noexcept { return state_->accepted_count; }

StopMatcher::StopMatcher(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
StopMatcher::StopMatcher(StopMatcher&&) noexcept = default;
StopMatcher& StopMatcher::operator=(StopMatcher&&) noexcept = default;
StopMatcher::~StopMatcher() = default;

}  // namespace mixtura
