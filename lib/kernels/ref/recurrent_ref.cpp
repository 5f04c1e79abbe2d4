// Layers with a state, scalar: the causal convolution in front of them and the gated delta rule.
#include <cmath>

#include "kernels/ref/ref.hpp"

namespace mixtura::ref {
namespace {

void convolve_row(const float* const* x, const float* weights, std::int64_t stride, std::int64_t taps,
                  std::int64_t count, float* y) noexcept {
    for (std::int64_t c = 0; c < count; ++c) {
        float sum = 0.0F;
        for (std::int64_t w = 0; w < taps; ++w) sum = std::fma(x[w][c], weights[w * stride + c], sum);
        y[c] = sum;
    }
}

float sum_of_four(const float (&a)[4]) noexcept { return (a[0] + a[2]) + (a[1] + a[3]); }

void delta_rule(const DeltaRule& rule) noexcept {
    for (std::int64_t t = 0; t < rule.token_count; ++t) {
        const float* query = rule.query + t * rule.input_stride;
        const float* key = rule.key + t * rule.input_stride;
        const float* value = rule.value + t * rule.input_stride;
        const float decay = rule.decays[t], rate = rule.rates[t];
        // The lanes behind the last value element hold a state too, of a value that is 0.
        const std::int64_t lanes = (rule.value_width + kStateLanes - 1) / kStateLanes * kStateLanes;
        for (std::int64_t j = 0; j < lanes; ++j) {
            float* state = rule.state + j / kStateLanes * kStateLanes * rule.key_width + j % kStateLanes;
            float recalled[4] = {}, read[4] = {};
            for (std::int64_t i = 0; i < rule.key_width; ++i)
                recalled[i % 4] = std::fma(key[i], state[i * kStateLanes], recalled[i % 4]);
            const float kept = sum_of_four(recalled) * decay;
            const float change = ((j < rule.value_width ? value[j] : 0.0F) - kept) * rate;
            for (std::int64_t i = 0; i < rule.key_width; ++i) {
                float& s = state[i * kStateLanes];
                s = std::fma(key[i], change, s * decay);
                read[i % 4] = std::fma(query[i], s, read[i % 4]);
            }
            if (j < rule.value_width) rule.output[t * rule.output_stride + j] = sum_of_four(read);
        }
    }
}

}  // namespace

void fill_recurrent(KernelTable& table) noexcept {
    table.convolve_row = convolve_row;
    table.delta_rule = delta_rule;
}

}  // namespace mixtura::ref
