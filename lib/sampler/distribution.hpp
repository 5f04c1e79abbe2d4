// The distribution a token is drawn from: temperature, the filters, the draw.  Sampler fills it anew for every token; it
// keeps its memory.  Candidates stand in id order throughout, three arrays side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampler/cut.hpp"

namespace mixtura {

class Distribution {
  public:
    struct Filters {
        float temperature = 1.0F;  // > 0
        std::size_t top_k = 0;     // 0 = off
        float top_p = 1.0F;
        float min_p = 0.0F;
        float typical_p = 1.0F;
    };

    // p = softmax(logits / temperature), filtered.  logits [V] hold no NaN; `maximum` is the largest and above -inf.
    // Where it is +inf the limit is taken: the tokens at +inf share everything.
    void build(std::span<const float> logits, float maximum, const Filters& filters);

    struct Draw {
        std::uint32_t token;
        float probability;
    };
    // The first token, in id order, whose cumulative probability is above u, for u in [0, 1).
    Draw draw(double u) const noexcept;

    // out [V] = the probabilities.
    void write(std::span<float> out) const noexcept;

    // The ids of the `count` largest logits, descending, ties by id; fewer where the rest is -inf.  Changes no
    // distribution.
    std::span<const std::uint32_t> largest(std::span<const float> logits, std::size_t count);

  private:
    void keep_top_p(double p) noexcept;
    void keep_min_p(float p) noexcept;
    void keep_typical(double p) noexcept;
    template <class Keeps>
    void keep(const Keeps& keeps) noexcept;

    std::size_t count_ = 0;
    std::vector<std::uint32_t> ids_;      // [count_], ascending
    std::vector<float> scaled_;           // [count_] (logit - maximum) / temperature, at most 0
    std::vector<float> weights_;          // [count_] e^scaled, not normalised
    std::vector<std::uint32_t> keys_;     // [count_] of the typical filter
    CutBins bins_{};
    std::vector<std::uint32_t> largest_;
};

}  // namespace mixtura
