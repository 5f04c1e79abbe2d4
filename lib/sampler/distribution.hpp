// The distribution a token is drawn from: temperature, the filters, the draw.  Sampler fills it anew for every token;
// it keeps its memory.  Candidates stand in id order throughout, three arrays side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel_table.hpp"
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

    // p = softmax(logits / temperature), filtered.  logits [V] hold no NaN; `maximum` is the largest and above -inf,
    // `block_maxima` those of scan_logits.  Where the maximum is +inf the limit is taken: the tokens at +inf share
    // everything.
    void build(const KernelTable& kernels, std::span<const float> logits, float maximum,
               std::span<const float> block_maxima, const Filters& filters);

    struct Draw {
        std::uint32_t token;
        float probability;
    };
    // The first token, in id order, whose cumulative probability is above u, for u in [0, 1).
    Draw draw(double u) noexcept;

    // out [V] = the probabilities.
    void write(std::span<float> out) const noexcept;

    // log(sum of e^(logit - maximum)) over any logits with a finite maximum.  Overwrites the distribution.
    double log_of_sum(const KernelTable& kernels, std::span<const float> logits);

    // The ids of the `count` largest of any logits, descending, ties by id; fewer where the rest is -inf.  Overwrites
    // the distribution; the ids are valid until it is built again.
    std::span<const std::uint32_t> largest(std::span<const float> logits, std::span<const float> block_maxima,
                                           std::size_t count);

  private:
    void reserve(std::size_t vocabulary_size);
    void gather(std::span<const float> logits, std::span<const float> block_maxima, float least) noexcept;
    float top_k_bound(std::span<const float> block_maxima, std::size_t k) noexcept;
    void keep_weights(float least) noexcept;
    void keep_top_k(std::size_t k) noexcept;
    void keep_top_p(double p) noexcept;
    void keep_min_p(float p) noexcept;
    void keep_typical(double p) noexcept;
    template <class Distance>
    void keep_nearest(const Distance& distance, double target) noexcept;
    template <class Keeps>
    void keep(const Keeps& keeps) noexcept;

    std::size_t count_ = 0;
    std::vector<std::uint32_t> ids_;  // [count_], ascending
    std::vector<float> scaled_;       // [count_] the logit at first, then (logit - maximum) / temperature, at most 0
    std::vector<float> weights_;      // [count_] the probabilities before a filter, which leaves them as they are
    std::vector<double> block_sums_;  // of the draw
    CutBins bins_{};
};

}  // namespace mixtura
