// How often each token occurs in a request's history, kept up to date as the history grows.  Penalties read it.
#pragma once

#include <mixtura/sampler.hpp>

#include <unordered_map>

namespace mixtura {

class TokenCounts {
  public:
    struct Count {
        std::uint32_t all = 0;  // prompt and output
        std::uint32_t output = 0;
    };

    // Makes the counts those of `history`.  Where it continues what was counted last, only the new tokens are counted
    // (a comparison of 4 bytes a token finds out); any other history is counted afresh.  INVALID_ARGUMENT, and nothing
    // counted, for a token outside [0, vocabulary_size) or a prompt longer than the history.
    Status update(const TokenHistory& history, std::int64_t vocabulary_size);

    const std::unordered_map<TokenId, Count>& counts() const noexcept { return counts_; }

  private:
    void clear() noexcept;

    std::vector<TokenId> tokens_;  // what is counted
    std::size_t prompt_count_ = 0;
    std::unordered_map<TokenId, Count> counts_;
};

// Refuses a history no Sampler can read.
Status check_history(const TokenHistory& history, std::size_t first, std::int64_t vocabulary_size);

}  // namespace mixtura
