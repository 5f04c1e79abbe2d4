// Encoding of Q4_K.  First each sub-block of 32 by itself: over a range of step sizes, quantise, solve for the scale
// and minimum that fit those codes best by weighted least squares, keep the best.  Then the super-block: its f16 scales
// are set so that the largest scale and the largest minimum become code 63, and each sub-block tries the codes around
// its own against the error it will really have.  Large elements weigh more, since they matter more to a dot product.
// Source: the weighted search is that of the published encoders (ggml); trying the neighbouring codes is ours.
// Sums are doubles in element order, so the bytes depend on no instruction set.
#include <algorithm>
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/k_scales.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

constexpr int kLargestCode = 15;

// x ≈ scale · q - minimum, q in 0 … 15, neither negative.
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

int best_code(double x, const Affine& fit) noexcept {
    if (!(fit.scale > 0.0)) return 0;
    return truncated(static_cast<float>((x + fit.minimum) / fit.scale + 0.5), 0, kLargestCode);
}

// Σ w · (scale · q - minimum - x)², each x with its best code.
double weighted_error(const Weighted32& sub_block, const Affine& fit) noexcept {
    double error = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        const double x = static_cast<double>(sub_block.x[i]);
        const double difference = fit.scale * best_code(x, fit) - fit.minimum - x;
        error += sub_block.weight[i] * difference * difference;
    }
    return error;
}

// The least-squares scale and minimum for the codes that `start` gives; `start` itself where they do not determine
// them.
Affine refit(const Weighted32& sub_block, const Affine& start) noexcept {
    double w = 0.0, wq = 0.0, wqq = 0.0, wx = 0.0, wqx = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        const double x = static_cast<double>(sub_block.x[i]);
        const double q = best_code(x, start);
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

Affine fit_sub_block(const Weighted32& sub_block) noexcept {
    double low = 0.0;
    double high = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
        low = std::min(low, static_cast<double>(sub_block.x[i]));
        high = std::max(high, static_cast<double>(sub_block.x[i]));
    }
    Affine best{(high - low) / kLargestCode, -low};
    double best_error = weighted_error(sub_block, best);
    for (int step = -10; step <= 10; ++step) {  // step sizes for 14 … 16 steps over the range
        const Affine fit = refit(sub_block, {(high - low) / (kLargestCode + 0.1 * step), -low});
        const double error = weighted_error(sub_block, fit);
        if (error < best_error) {
            best = fit;
            best_error = error;
        }
    }
    return best;
}

// The 6-bit codes around fit/d and fit/dmin with the least error.
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
            const double error = weighted_error(sub_block, {d * s, dmin * m});
            if (error < best_error) {
                best = {static_cast<unsigned>(s), static_cast<unsigned>(m)};
                best_error = error;
            }
        }
    }
    return best;
}

void encode(const float* values, BlockQ4_K& block) noexcept {
    float limited[256];
    constexpr float kReach = kF16Largest * 63.0F;  // of the minimums; scales reach 15 times as far
    limit_finite(values, limited, -kReach, kReach * 15.0F);

    Affine fits[8];
    Affine largest;
    for (std::size_t s = 0; s < 8; ++s) {
        fits[s] = fit_sub_block(weighted(limited + 32 * s));
        largest = {std::max(largest.scale, fits[s].scale), std::max(largest.minimum, fits[s].minimum)};
    }
    block = {};
    block.d = Le16::from(finite_f16(static_cast<float>(largest.scale / 63)));
    block.dmin = Le16::from(finite_f16(static_cast<float>(largest.minimum / 63)));
    const double d = static_cast<double>(f16_to_f32(block.d.value()));
    const double dmin = static_cast<double>(f16_to_f32(block.dmin.value()));
    for (std::size_t s = 0; s < 8; ++s) {
        const ScaleMinCodes codes = scale_codes(weighted(limited + 32 * s), fits[s], d, dmin);
        store_scale_min(block.scales, s, codes);
        const Affine stored{d * codes.scale, dmin * codes.minimum};
        for (std::size_t i = 0; i < 32; ++i) {
            const int q = best_code(static_cast<double>(limited[32 * s + i]), stored);
            std::uint8_t& byte = block.qs[32 * (s / 2) + i];
            byte = static_cast<std::uint8_t>(byte | q << 4 * (s % 2));
        }
    }
}

}  // namespace

EncodeBlocks q4_k_encoder(DType dtype) noexcept {
    return dtype == DType::q4_k ? encode_each<BlockQ4_K, encode> : nullptr;
}

}  // namespace mixtura::detail
