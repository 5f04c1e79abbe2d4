// GGUF's formats of e2m1 codes with small float scales: MXFP4 (decoded and encoded) and NVFP4.
// Sources: OCP MX 1.0 and NVIDIA's description of NVFP4 for the codes; gguf 0.19 for the blocks and the order of float
// operations.  packed_linear.hpp reads MXFP4 as safetensors hold it.
#include <bit>
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

// Twice the values of e2m1, so that they are integers; the scales are halved to match.  Minus zero is plain zero here.
constexpr float kDoubledE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// value = 2^(e - 128) · doubled code; the low halves of the 16 bytes first
void decode(const BlockMxfp4& block, float* values) noexcept {
    const float d = f8_e8m0_half_to_f32(block.e);
    for (std::size_t i = 0; i < 32; ++i) values[i] = d * kDoubledE2m1[block.qs[i % 16] >> 4 * (i / 16) & 0xFU];
}

// An e4m3 without a sign, halved; the byte's top bit is not read, but for the byte 0x7F, which is 0 where e4m3 has its
// NaN: so 0xFF is 240, an oddity of the reference that we keep.
float nvfp4_scale(std::uint8_t code) noexcept {
    return code == 0x7FU ? 0.0F : small_float<4, 3, 7>(code & 0x7FU) * 0.5F;
}

// value = scale of 16 elements · doubled code; their 8 bytes hold the first eight in the low halves
void decode(const BlockNvfp4& block, float* values) noexcept {
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t s = i / 16;
        const unsigned code = block.qs[8 * s + i % 8] >> 4 * (i / 8 % 2) & 0xFU;
        values[i] = nvfp4_scale(block.d[s]) * kDoubledE2m1[code];
    }
}

// ⌊log2(x)⌋ of a positive finite x.
int exponent_of(float x) noexcept {
    const std::uint32_t bits = f32_bits(x);
    if (bits >= 0x0080'0000U) return static_cast<int>(bits >> 23) - 127;
    return static_cast<int>(std::bit_width(bits)) - 150;
}

// e = ⌊log2(max|x|)⌋ - 2 + 127, at least 0: the largest magnitude lies in [4, 8) times the scale, whose largest code
// is 6.  Then the code whose value is nearest, the lowest of equals.  The owners' references take log2 in f32, which
// can round up to the next integer just below a power of two; ours is exact.
void encode(const float* values, BlockMxfp4& block) noexcept {
    constexpr float kLargest = 0x1.FFFFFEp127F;
    float limited[32];
    limit_finite(values, limited, -kLargest, kLargest);
    float largest = 0.0F;
    for (const float value : limited) largest = std::fmax(largest, std::fabs(value));
    const int e = largest > 0.0F ? exponent_of(largest) - 2 + 127 : 0;
    block.e = static_cast<std::uint8_t>(e < 0 ? 0 : e);
    const float d = f8_e8m0_half_to_f32(block.e);

    const auto nearest_code = [d](float value) {
        unsigned best = 0;
        for (unsigned code = 1; code < 16; ++code) {
            if (std::fabs(d * kDoubledE2m1[code] - value) < std::fabs(d * kDoubledE2m1[best] - value)) best = code;
        }
        return best;
    };
    for (std::size_t i = 0; i < 16; ++i) {
        block.qs[i] = static_cast<std::uint8_t>(nearest_code(limited[i]) | nearest_code(limited[i + 16]) << 4);
    }
}

}  // namespace

DecodeBlocks fp4_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::mxfp4: return decode_each<BlockMxfp4, decode>;
        case DType::nvfp4: return decode_each<BlockNvfp4, decode>;
        default: return nullptr;
    }
}

EncodeBlocks fp4_encoder(DType dtype) noexcept {
    return dtype == DType::mxfp4 ? encode_each<BlockMxfp4, encode> : nullptr;
}

}  // namespace mixtura::detail
