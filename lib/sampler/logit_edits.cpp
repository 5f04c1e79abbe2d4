#include "sampler/logit_edits.hpp"

#include <algorithm>
#include <limits>

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void add_bias(std::span<const LogitBias> biases, std::span<float> logits) noexcept {
    for (const LogitBias& entry : biases) {
        float& logit = logits[static_cast<std::size_t>(entry.token)];
        logit = entry.bias == -kInfinity ? -kInfinity : logit + entry.bias;
    }
}

void penalise(const Penalties& penalties, const TokenCounts& counts, std::span<float> logits) noexcept {
    for (const auto& [token, count] : counts.counts()) {
        float& logit = logits[static_cast<std::size_t>(token)];
        logit = logit > 0 ? logit / penalties.repetition : logit * penalties.repetition;
        if (count.output == 0) continue;
        logit -= penalties.frequency * static_cast<float>(count.output);
        logit -= penalties.presence;
    }
}

void ban_repeated_ngrams(std::span<const TokenId> history, std::size_t n, std::span<float> logits) noexcept {
    if (history.size() < n) return;
    const std::span<const TokenId> context = history.last(n - 1);
    for (std::size_t end = n - 1; end < history.size(); ++end) {
        if (std::equal(context.begin(), context.end(), history.begin() + static_cast<std::ptrdiff_t>(end - (n - 1)))) {
            logits[static_cast<std::size_t>(history[end])] = -kInfinity;
        }
    }
}

}  // namespace mixtura
