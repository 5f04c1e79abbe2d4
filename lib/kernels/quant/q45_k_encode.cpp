// Encoding of Q4_K and Q5_K, which differ in the number of their codes.  First each sub-block of 32 by itself: over a
// range of step sizes, quantise, solve for the scale and minimum that fit those codes best by weighted least squares,
// keep the best.  Then the super-block: its f16 scales are set so that the largest scale and the largest minimum become
// code 63, and each sub-block tries the codes around its own against the error it will really have.  Large elements
// weigh more, since they matter more to a dot product. Source: the weighted search is that of the published encoders
// (ggml); trying the neighbouring codes is ours. Sums are doubles in element order, so the bytes depend on no
// instruction set.
#include <algorithm>
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/k_scales.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

// x ≈ scale · q - minimum, q in 0 … the largest code, neither negative.
struct Affine {
    double scale = 0.0;
    double minimum = 0.0;
};

struct Weighted32 {
    const float* x;
    double weight[32];  // the sub-block's root mean square plus |x|
};

Weighted32 weighted(const float* x) noexcept {
    Weighted32 sub_block{x, {}};
    double squares = 0.0;
    for (std::size_t i = 0; i < 32; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double rms = std::sqrt(squares / 32);
    for (std::size_t i = 0; i < 32; ++i) sub_block.weight[i] = rms + std::fabs(static_cast<double>(x[i]));
    return sub_block;
}

template <int kLargest>
int best_code(double x, const Affine& fit) noexcept {
    if (!(fit.scale > 0.0)) return 0;
    return truncated(static_cast<float>((x + fit.minimum) / fit.scale + 0.5), 0, kLargest);
}

// Σ w · (scale · q - minimum - x)², each x with its best code.
template <int kLargest>
double weighted_error(const Weighted32& sub_block, const Affine& fit) noexcept {
    double error = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        const double x = static_cast<double>(sub_block.x[i]);
        const double difference = fit.scale * best_code<kLargest>(x, fit) - fit.minimum - x;
        error += sub_block.weight[i] * difference * difference;
    }
    return error;
}

// The least-squares scale and minimum for the codes that `start` gives; `start` itself where they do not determine
// them.
template <int kLargest>
Affine refit(const Weighted32& sub_block, const Affine& start) noexcept {
    double w = 0.0, wq = 0.0, wqq = 0.0, wx = 0.0, wqx = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        const double x = static_cast<double>(sub_block.x[i]);
        const double q = best_code<kLargest>(x, start);
        w += sub_block.weight[i];
        wq += sub_block.weight[i] * q;
        wqq += sub_block.weight[i] * q * q;
        wx += sub_block.weight[i] * x;
        wqx += sub_block.weight[i] * q * x;
    }
    const double determinant = w * wqq - wq * wq;
    if (!(determinant > 0.0)) return start;
    const Affine fit{(w * wqx - wq * wx) / determinant, (wq * wqx - wqq * wx) / determinant};
    if (fit.minimum >= 0.0) return fit;
    return {wqx / wqq, 0.0};  // the minimum may not lift values: best scale through zero
}

template <int kLargest>
Affine fit_sub_block(const Weighted32& sub_block) noexcept {
    double low = 0.0;
    double high = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        low = std::min(low, static_cast<double>(sub_block.x[i]));
        high = std::max(high, static_cast<double>(sub_block.x[i]));
    }
    Affine best{(high - low) / kLargest, -low};
    double best_error = weighted_error<kLargest>(sub_block, best);
    for (int step = -10; step <= 10; ++step) {  // step sizes for one step less to one more over the range
        const Affine fit = refit<kLargest>(sub_block, {(high - low) / (kLargest + 0.1 * step), -low});
        const double error = weighted_error<kLargest>(sub_block, fit);
        if (error < best_error) {
            best = fit;
            best_error = error;
        }
    }
    return best;
}

// The 6-bit codes around fit/d and fit/dmin with the least error.
template <int kLargest>
ScaleMinCodes scale_codes(const Weighted32& sub_block, const Affine& fit, double d, double dmin) noexcept {
    const auto around = [](double value, double unit) {
        return unit > 0.0 ? truncated(static_cast<float>(value / unit + 0.5), 0, 63) : 0;
    };
    const int scale_code = around(fit.scale, d);
    const int minimum_code = around(fit.minimum, dmin);
    ScaleMinCodes best{};
    double best_error = HUGE_VAL;
    for (int s = std::max(0, scale_code - 1); s <= std::min(63, scale_code + 1); ++s) {
        for (int m = std::max(0, minimum_code - 1); m <= std::min(63, minimum_code + 1); ++m) {
            const double error = weighted_error<kLargest>(sub_block, {d * s, dmin * m});
            if (error < best_error) {
                best = {static_cast<unsigned>(s), static_cast<unsigned>(m)};
                best_error = error;
            }
        }
    }
    return best;
}

void store_code(BlockQ4_K& block, std::size_t s, std::size_t i, unsigned q) noexcept {
    std::uint8_t& byte = block.qs[32 * (s / 2) + i];
    byte = static_cast<std::uint8_t>(byte | q << 4 * (s % 2));
}
void store_code(BlockQ5_K& block, std::size_t s, std::size_t i, unsigned q) noexcept {
    std::uint8_t& byte = block.qs[32 * (s / 2) + i];
    byte = static_cast<std::uint8_t>(byte | (q & 0xFU) << 4 * (s % 2));
    block.qh[i] = static_cast<std::uint8_t>(block.qh[i] | q >> 4 << s);
}

template <int kLargest, class Block>
void encode(const float* values, Block& block) noexcept {
    float limited[256];
    constexpr float kReach = kF16Largest * 63.0F;  // of the minimums; scales reach as far above as there are codes
    limit_finite(values, limited, -kReach, kReach * kLargest);

    Affine fits[8];
    Affine largest;
    for (std::size_t s = 0; s < 8; ++s) {
        fits[s] = fit_sub_block<kLargest>(weighted(limited + 32 * s));
        largest = {std::max(largest.scale, fits[s].scale), std::max(largest.minimum, fits[s].minimum)};
    }
    block = {};
    block.d = Le16::from(finite_f16(static_cast<float>(largest.scale / 63)));
    block.dmin = Le16::from(finite_f16(static_cast<float>(largest.minimum / 63)));
    const double d = static_cast<double>(f16_to_f32(block.d.value()));
    const double dmin = static_cast<double>(f16_to_f32(block.dmin.value()));
    for (std::size_t s = 0; s < 8; ++s) {
        const ScaleMinCodes codes = scale_codes<kLargest>(weighted(limited + 32 * s), fits[s], d, dmin);
        store_scale_min(block.scales, s, codes);
        const Affine stored{d * codes.scale, dmin * codes.minimum};
        for (std::size_t i = 0; i < 32; ++i) {
            const int q = best_code<kLargest>(static_cast<double>(limited[32 * s + i]), stored);
            store_code(block, s, i, static_cast<unsigned>(q));
        }
    }
}

}  // namespace

EncodeBlocks q45_k_encoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::q4_k: return encode_each<BlockQ4_K, encode<15>>;
        case DType::q5_k: return encode_each<BlockQ5_K, encode<31>>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
