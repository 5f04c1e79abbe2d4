// Functions of rows, scalar: quantisation, norms, softmax, activations, rotary embedding, sums of rows.
#include <cmath>
#include <limits>

#include "kernels/elementwise.hpp"
#include "kernels/math.hpp"
#include "kernels/reduce.hpp"
#include "kernels/ref/ref.hpp"

namespace mixtura::ref {

// q = round(x · (127 / max|x|)), ties to even; d = max|x| / 127.  x · (127 / max|x|) is at most 127 · (1 + 2^-23), so q
// needs no clamp.  Whether the block is zero, finite or not is read off the bits, whose order as integers is that of
// the magnitudes, with infinities and NaNs above all.
void quantise_row(const float* x, std::int64_t columns, ActivationBlock* blocks) noexcept {
    constexpr float kRound = 0x1.8p23F;
    for (std::int64_t b = 0; b < columns / 32; ++b, x += 32) {
        ActivationBlock block{};
        float d = 0.0F;
        int sums[2] = {};
        std::uint32_t largest = 0;
        for (int k = 0; k < 32; ++k) {
            const std::uint32_t magnitude = f32_bits(x[k]) & 0x7FFF'FFFFU;
            largest = magnitude > largest ? magnitude : largest;
        }
        if (largest >= kF32Infinity) {
            d = std::numeric_limits<float>::quiet_NaN();
        } else if (f32_from_bits(largest) >= kActivationTiny) {
            const float maximum = f32_from_bits(largest);
            const float inverse = 127.0F / maximum;
            d = maximum / 127.0F;
            for (int k = 0; k < 32; ++k) {
                const float rounded = (x[k] * inverse + kRound) - kRound;
                block.q[k] = static_cast<std::int8_t>(rounded);
                sums[k / 16] += block.q[k];
            }
        }
        set_sums(block, d, sums[0], sums[1]);
        blocks[b] = block;
    }
}

namespace {

void rms_norm_row(const float* x, const float* weight, float epsilon, std::int64_t columns, float* y) noexcept {
    const float mean = sum_of_squares_f32(x, columns, 0.0F) / static_cast<float>(columns);
    const float inverse = 1.0F / std::sqrt(mean + epsilon);
    for (std::int64_t k = 0; k < columns; ++k) {
        const float scaled = x[k] * inverse;
        y[k] = weight != nullptr ? scaled * weight[k] : scaled;
    }
}

void layer_norm_row(const float* x, const float* weight, const float* bias, float epsilon, std::int64_t columns,
                    float* y) noexcept {
    const float mean = sum_f32(x, columns) / static_cast<float>(columns);
    const float variance = sum_of_squares_f32(x, columns, mean) / static_cast<float>(columns);
    const float inverse = 1.0F / std::sqrt(variance + epsilon);
    for (std::int64_t k = 0; k < columns; ++k) {
        const float scaled = (x[k] - mean) * inverse;
        y[k] = std::fma(scaled, weight != nullptr ? weight[k] : 1.0F, bias != nullptr ? bias[k] : 0.0F);
    }
}

void softmax_row(const float* x, std::int64_t columns, float* y) noexcept {
    const float maximum = max_f32(x, columns);
    for (std::int64_t k = 0; k < columns; ++k) y[k] = exp_f32(x[k] - maximum);
    const float sum = sum_f32(y, columns);
    for (std::int64_t k = 0; k < columns; ++k) y[k] = y[k] / sum;
}

void activate(Activation kind, const float* x, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = activation_f32(kind, x[k]);
}

void activate_gated(const GatedActivation& gated, const float* gate, const float* up, std::int64_t count,
                    float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = gated_activation_f32(gated, gate[k], up[k]);
}

void add(const float* a, const float* b, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = a[k] + b[k];
}

void add_scaled(const float* x, float factor, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = std::fma(factor, x[k], y[k]);
}

void scale(const float* x, float factor, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = factor * x[k];
}

void divide(const float* x, float divisor, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; ++k) y[k] = x[k] / divisor;
}

void rotate(RopePairing pairing, const float* cosines, const float* sines, std::int64_t pair_count, float* x) noexcept {
    const std::int64_t step = pairing == RopePairing::half ? 1 : 2,
                       partner = pairing == RopePairing::half ? pair_count : 1;
    for (std::int64_t i = 0; i < pair_count; ++i) {
        const float a = x[step * i], b = x[step * i + partner];
        x[step * i] = std::fma(-b, sines[i], a * cosines[i]);
        x[step * i + partner] = std::fma(a, sines[i], b * cosines[i]);
    }
}

}  // namespace

void fill_rows(KernelTable& table) noexcept {
    table.quantise_row = quantise_row;
    table.rms_norm_row = rms_norm_row;
    table.layer_norm_row = layer_norm_row;
    table.softmax_row = softmax_row;
    table.activate = activate;
    table.activate_gated = activate_gated;
    table.add = add;
    table.add_scaled = add_scaled;
    table.scale = scale;
    table.divide = divide;
    table.rotate = rotate;
    table.store_row = store_row;
}

}  // namespace mixtura::ref
