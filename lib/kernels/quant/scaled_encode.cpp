// Encoding of our own rows (scaled.cpp decodes them) and of IQ4_NL: for weights that become such while they are loaded.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/iq_tables.hpp"
#include "kernels/quant/rounding.hpp"
#include "kernels/scaled_format.hpp"

namespace mixtura::detail {
namespace {

template <std::size_t kCount>
float largest_magnitude(const float (&values)[kCount]) noexcept {
    float largest = 0.0F;
    for (const float value : values) largest = std::fmax(largest, std::fabs(value));
    return largest;
}

// scale = max|x| / 448, code = x / scale to the nearest, ties to the even one: what FP8 checkpoints are made with.
template <std::size_t kCount>
void encode(const float* values, BlockE4m3<kCount>& block) noexcept {
    constexpr float kLargest = 448.0F, kReach = kLargest * 0x1p118F;  // a scale below 2^120 stays finite in a panel
    float limited[kCount];
    limit_finite(values, limited, -kReach, kReach);
    const float scale = largest_magnitude(limited) / kLargest;
    const float inverse = inverse_or_zero(scale);
    block.scale = Le32::from(f32_bits(scale));
    for (std::size_t i = 0; i < kCount; ++i) block.codes[i] = f32_to_f8_e4m3(limited[i] * inverse);
}

// Sixteen steps over the values and 0: d = (max - min) / 15 as f16, zero = -min / d and code = x / d + zero to the
// nearest.  The plain rounding that AWQ's scaling and GPTQ's corrections start from.
template <std::size_t kCount>
void encode(const float* values, BlockInt4<kCount>& block) noexcept {
    constexpr float kReach = kF16Largest * 7.0F;  // of either sign, so that d is finite
    float limited[kCount];
    limit_finite(values, limited, -kReach, kReach);
    float low = 0.0F, high = 0.0F;
    for (const float value : limited) {
        low = std::fmin(low, value);
        high = std::fmax(high, value);
    }
    block = {};
    block.d = Le16::from(finite_f16((high - low) / 15.0F));
    const float inverse = inverse_or_zero(f16_to_f32(block.d.value()));
    const int zero = nearest_away(-low * inverse, 0, 15);
    block.zero = static_cast<std::uint8_t>(zero);
    for (std::size_t i = 0; i < kCount; ++i) {
        const int code = std::clamp(nearest_away(limited[i] * inverse, -15, 15) + zero, 0, 15);
        std::uint8_t& byte = block.qs[i / 32 * 16 + i % 16];
        byte = static_cast<std::uint8_t>(byte | code << 4 * (i / 16 % 2));
    }
}

// scale = max|x|, the code whose quantile is nearest to x / scale, the lowest of equals.
void encode(const float* values, BlockNf4& block) noexcept {
    float limited[64];
    limit_finite(values, limited, -FLT_MAX, FLT_MAX);
    const float scale = largest_magnitude(limited);
    const float inverse = inverse_or_zero(scale);
    block = {};
    block.scale = Le32::from(f32_bits(scale));
    for (std::size_t i = 0; i < 64; ++i) {
        const float x = limited[i] * inverse;
        unsigned best = 0;
        for (unsigned code = 1; code < 16; ++code) {
            if (std::fabs(kNf4Map[code] - x) < std::fabs(kNf4Map[best] - x)) best = code;
        }
        block.qs[i / 2] = static_cast<std::uint8_t>(block.qs[i / 2] | best << 4 * (1 - i % 2));
    }
}

// Nearest of IQ4's uneven steps to x, the lowest of equals: how many of the 15 middles between them lie below x.
unsigned nearest_step(double x) noexcept {
    const auto is_above = [x](unsigned code) { return 2 * x > kIq4Steps[code] + kIq4Steps[code + 1]; };
    unsigned code = is_above(7) ? 8 : 0;
    code += is_above(code + 3) ? 4 : 0;
    code += is_above(code + 1) ? 2 : 0;
    return code + (is_above(code) ? 1 : 0);
}

// x ≈ d · step: over a range of scales, of both signs, that bring the extreme near the ends of the steps, quantise,
// solve for the d that fits those codes best by weighted least squares, keep the best.  Large elements weigh more
// (q45_k_encode.cpp).  Sums are doubles in element order, so the bytes depend on no instruction set.
void encode(const float* values, BlockIq4Nl& block) noexcept {
    constexpr float kReach = kF16Largest * 100.0F;
    float limited[32];
    limit_finite(values, limited, -kReach, kReach);
    const auto extreme = static_cast<double>(*std::max_element(
        std::begin(limited), std::end(limited), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
    double squares = 0.0;
    for (const float value : limited) squares += static_cast<double>(value) * static_cast<double>(value);
    const double rms = std::sqrt(squares / 32);
    double best_d = 0.0, best_gain = 0.0;  // gain: by how much the weighted error is below that of zeros
    for (int end = 100; extreme != 0.0 && end <= 140; end += 5) {
        for (const double inverse : {-end / extreme, (end - 14) / extreme}) {
            double xq = 0.0, qq = 0.0;
            for (const float value : limited) {
                const auto x = static_cast<double>(value);
                const double weight = rms + std::fabs(x), q = kIq4Steps[nearest_step(x * inverse)];
                xq += weight * x * q;
                qq += weight * q * q;
            }
            if (qq > 0.0 && xq * xq / qq > best_gain) {
                best_gain = xq * xq / qq;
                best_d = xq / qq;
            }
        }
    }
    block = {};
    block.d = Le16::from(finite_f16(static_cast<float>(best_d)));
    const auto d = static_cast<double>(f16_to_f32(block.d.value()));
    for (std::size_t i = 0; i < 32; ++i) {
        const unsigned code = nearest_step(d != 0.0 ? static_cast<double>(limited[i]) / d : 0.0);
        block.qs[i % 16] = static_cast<std::uint8_t>(block.qs[i % 16] | code << 4 * (i / 16));
    }
}

}  // namespace

EncodeBlocks scaled_encoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::f8_e4m3_32: return encode_each<BlockE4m3<32>, encode<32>>;
        case DType::f8_e4m3_128: return encode_each<BlockE4m3<128>, encode<128>>;
        case DType::int4_32: return encode_each<BlockInt4<32>, encode<32>>;
        case DType::int4_64: return encode_each<BlockInt4<64>, encode<64>>;
        case DType::int4_128: return encode_each<BlockInt4<128>, encode<128>>;
        case DType::nf4: return encode_each<BlockNf4, encode>;
        case DType::iq4_nl: return encode_each<BlockIq4Nl, encode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
