#include "sampler/token_counts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace mixtura {

Status check_history(const TokenHistory& history, std::size_t first, std::int64_t vocabulary_size) {
    if (history.prompt_count > history.tokens.size()) {
        return error(StatusCode::invalid_argument, "the history has ", history.tokens.size(), " tokens, but ",
                     history.prompt_count, " of them are said to be the prompt's");
    }
    for (std::size_t i = first; i < history.tokens.size(); ++i) {
        if (history.tokens[i] < 0 || history.tokens[i] >= vocabulary_size) {
            return error(StatusCode::invalid_argument, "token ", i, " of the history is ", history.tokens[i],
                         ", expected 0 to ", vocabulary_size - 1);
        }
    }
    return {};
}

Status TokenCounts::update(const TokenHistory& history, std::int64_t vocabulary_size) {
    const std::span<const TokenId> tokens = history.tokens;
    if (history.prompt_count != prompt_count_ || tokens.size() < tokens_.size() ||
        !std::equal(tokens_.begin(), tokens_.end(), tokens.begin())) {
        clear();
    }
    try {
        const std::size_t known = tokens_.size();
        MIXTURA_RETURN_IF_ERROR(check_history(history, known, vocabulary_size));
        tokens_.insert(tokens_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end());
        prompt_count_ = history.prompt_count;
        for (std::size_t i = known; i < tokens.size(); ++i) {
            Count& count = counts_[tokens[i]];
            ++count.all;
            if (i >= history.prompt_count) ++count.output;
        }
    } catch (...) {
        clear();  // half counted is counted afresh next time
        throw;
    }
    return {};
}

void TokenCounts::clear() noexcept {
    tokens_.clear();
    prompt_count_ = 0;
    counts_.clear();
}

}  // namespace mixtura
