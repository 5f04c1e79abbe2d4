// What changes logits before they become a distribution: bias, penalties, the ban of repeated n-grams.
#pragma once

#include <mixtura/sampler.hpp>

#include "sampler/token_counts.hpp"

namespace mixtura {

// logits[t] += bias; a bias of -inf rules t out whatever its logit is.
void add_bias(std::span<const LogitBias> biases, std::span<float> logits) noexcept;

struct Penalties {
    float repetition = 1.0F;
    float presence = 0.0F;
    float frequency = 0.0F;
    bool change_anything() const noexcept { return repetition != 1.0F || presence != 0.0F || frequency != 0.0F; }
};

// For t in prompt or output: l = l > 0 ? l / repetition : l · repetition; then for t in the output
// l -= frequency · (times in the output) + presence.
// Source: Keskar and others, "CTRL", 2019, section 4.1 (arXiv 1909.05858), in transformers' form, which keeps negative
// logits from growing; presence and frequency as OpenAI's API documents them.
void penalise(const Penalties& penalties, const TokenCounts& counts, std::span<float> logits) noexcept;

// Rules out every token that would complete a run of n >= 1 tokens that the history already holds.
void ban_repeated_ngrams(std::span<const TokenId> history, std::size_t n, std::span<float> logits) noexcept;

}  // namespace mixtura
