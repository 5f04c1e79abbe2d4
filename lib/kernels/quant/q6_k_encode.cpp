// Encoding of Q6_K.  First each sub-block of 16 by itself: over a range of step sizes, quantise, solve for the scale
// that fits those codes best by weighted least squares, keep the best.  Then the super-block: its f16 scale is set so
// that the largest of them becomes code -128, and each sub-block tries the codes around its own against the error it
// will really have.  An element weighs its square, since large ones matter more to a dot product.
// Source: the weighted search is that of the published encoders (ggml); trying the neighbouring codes is ours.
// Sums are doubles in element order, so the bytes depend on no instruction set.
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

// x ≈ scale · q, q in -32 … 31, the scale of either sign.
int best_code(double x, double scale) noexcept {
    if (scale == 0.0) return 0;
    return nearest_away(static_cast<float>(x / scale), -32, 31);
}

double weighted_error(const float* x, double scale) noexcept {
    double error = 0.0;
    for (std::size_t i = 0; i < 16; ++i) {
        const double value = static_cast<double>(x[i]);
        const double difference = scale * best_code(value, scale) - value;
        error += value * value * difference * difference;
    }
    return error;
}

// The least-squares scale for the codes that `start` gives.
double refit(const float* x, double start) noexcept {
    double wqx = 0.0, wqq = 0.0;
    for (std::size_t i = 0; i < 16; ++i) {
        const double value = static_cast<double>(x[i]);
        const double q = best_code(value, start);
        wqx += value * value * q * value;
        wqq += value * value * q * q;
    }
    return wqq > 0.0 ? wqx / wqq : start;
}

double fit_sub_block(const float* x) noexcept {
    double extreme = 0.0;
    for (std::size_t i = 0; i < 16; ++i) {
        if (std::fabs(static_cast<double>(x[i])) > std::fabs(extreme)) extreme = static_cast<double>(x[i]);
    }
    double best = 0.0;
    double best_error = weighted_error(x, best);
    for (int step = -9; step <= 9; ++step) {  // the extreme, of either sign, at code -31.1 … -32.9
        const double fit = refit(x, extreme / (-32 + 0.1 * step));
        const double error = weighted_error(x, fit);
        if (error < best_error) {
            best = fit;
            best_error = error;
        }
    }
    return best;
}

// The 8-bit code around fit/d with the least error.
int scale_code_for(const float* x, double fit, double d) noexcept {
    if (d == 0.0) return 0;
    const int middle = nearest_away(static_cast<float>(fit / d), -128, 127);
    int best = middle;
    double best_error = weighted_error(x, d * middle);
    for (const int code : {middle - 1, middle + 1}) {
        if (code < -128 || code > 127) continue;
        const double error = weighted_error(x, d * code);
        if (error < best_error) {
            best = code;
            best_error = error;
        }
    }
    return best;
}

void encode(const float* values, BlockQ6_K& block) noexcept {
    float limited[256];
    constexpr float kReach = kF16Largest * 127.0F * 31.0F;
    limit_finite(values, limited, -kReach, kReach);

    double fits[16];
    double extreme = 0.0;
    for (std::size_t s = 0; s < 16; ++s) {
        fits[s] = fit_sub_block(limited + 16 * s);
        if (std::fabs(fits[s]) > std::fabs(extreme)) extreme = fits[s];
    }
    block = {};
    block.d = Le16::from(finite_f16(static_cast<float>(extreme / -128)));
    const double d = static_cast<double>(f16_to_f32(block.d.value()));
    for (std::size_t s = 0; s < 16; ++s) {
        const int scale_code = scale_code_for(limited + 16 * s, fits[s], d);
        block.scales[s] = static_cast<std::int8_t>(scale_code);
        for (std::size_t e = 16 * s; e < 16 * s + 16; ++e) {
            const auto q = static_cast<unsigned>(best_code(static_cast<double>(limited[e]), d * scale_code) + 32);
            std::uint8_t& low = block.ql[64 * (e / 128) + e % 64];
            std::uint8_t& high = block.qh[32 * (e / 128) + e % 32];
            low = static_cast<std::uint8_t>(low | (q & 0xFU) << 4 * (e / 64 % 2));
            high = static_cast<std::uint8_t>(high | q >> 4 << 2 * (e / 32 % 4));
        }
    }
}

}  // namespace

EncodeBlocks q6_k_encoder(DType dtype) noexcept {
    return dtype == DType::q6_k ? encode_each<BlockQ6_K, encode> : nullptr;
}

}  // namespace mixtura::detail
