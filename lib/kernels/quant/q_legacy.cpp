// GGUF's formats of 32 elements with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1.
// Source: the GGUF specification; the order of float operations is that of gguf 0.19.
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

// 4-bit code of element i: the low halves of the 16 bytes come first, then the high halves.
unsigned nibble(const std::uint8_t (&qs)[16], std::size_t i) noexcept {
    return i < 16 ? qs[i] & 0xFU : qs[i - 16] >> 4U;
}
unsigned bit(Le32 field, std::size_t i) noexcept { return field.value() >> i & 1U; }

// value = d · (q - 8)
void decode(const BlockQ4_0& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t i = 0; i < 32; ++i) values[i] = d * (static_cast<float>(nibble(block.qs, i)) - 8.0F);
}

// value = d · q + m
void decode(const BlockQ4_1& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const float m = f16_to_f32(block.m.value());
    for (std::size_t i = 0; i < 32; ++i) values[i] = d * static_cast<float>(nibble(block.qs, i)) + m;
}

// value = d · (q - 16)
void decode(const BlockQ5_0& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t i = 0; i < 32; ++i) {
        const unsigned q = nibble(block.qs, i) | bit(block.qh, i) << 4;
        values[i] = d * (static_cast<float>(q) - 16.0F);
    }
}

// value = d · q + m
void decode(const BlockQ5_1& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const float m = f16_to_f32(block.m.value());
    for (std::size_t i = 0; i < 32; ++i) {
        const unsigned q = nibble(block.qs, i) | bit(block.qh, i) << 4;
        values[i] = d * static_cast<float>(q) + m;
    }
}

// value = d · q
void decode(const BlockQ8_0& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t i = 0; i < 32; ++i) values[i] = d * static_cast<float>(block.qs[i]);
}

// value = d · q
void decode(const BlockQ8_1& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t i = 0; i < 32; ++i) values[i] = d * static_cast<float>(block.qs[i]);
}

// The scales, once computed in f32, quantise; what is stored is their f16.  Input is limited to what an f16 scale (and
// minimum) can reach, so neither overflows.

// The element of largest magnitude, the first of equals, with its sign.
float extreme(const float (&values)[32]) noexcept {
    float found = values[0];
    for (const float value : values) {
        if (std::fabs(value) > std::fabs(found)) found = value;
    }
    return found;
}

// Codes 0 … 2·half - 1 around `half`: d = extreme / -half, so that the extreme itself, of either sign, is code 0 and
// exact; q = ⌊x/d + half + ½⌋, at most 2·half - 1.
float encode_symmetric(const float* values, int half, std::uint8_t (&codes)[32]) noexcept {
    float limited[32];
    limit_finite(values, limited, -kF16Largest * static_cast<float>(half), kF16Largest * static_cast<float>(half));
    const float d = extreme(limited) / static_cast<float>(-half);
    const float inverse = inverse_or_zero(d);
    for (std::size_t i = 0; i < 32; ++i) {
        codes[i] = static_cast<std::uint8_t>(
            truncated(limited[i] * inverse + (static_cast<float>(half) + 0.5F), 0, 2 * half - 1));
    }
    return d;
}

// Codes 0 … largest above the minimum: d = (max - min) / largest, q = ⌊(x - min)/d + ½⌋.
struct ScaleMin {
    float d;
    float m;
};
ScaleMin encode_affine(const float* values, int largest, std::uint8_t (&codes)[32]) noexcept {
    float limited[32];
    limit_finite(values, limited, -kF16Largest, kF16Largest);
    float low = limited[0];
    float high = limited[0];
    for (const float value : limited) {
        if (value < low) low = value;
        if (value > high) high = value;
    }
    const float d = (high - low) / static_cast<float>(largest);
    const float inverse = inverse_or_zero(d);
    for (std::size_t i = 0; i < 32; ++i) {
        codes[i] = static_cast<std::uint8_t>(truncated((limited[i] - low) * inverse + 0.5F, 0, largest));
    }
    return {d, low};
}

void store_nibbles(const std::uint8_t (&codes)[32], std::uint8_t (&qs)[16]) noexcept {
    for (std::size_t i = 0; i < 16; ++i)
        qs[i] = static_cast<std::uint8_t>((codes[i] & 0xFU) | (codes[i + 16] & 0xFU) << 4);
}

Le32 fifth_bits(const std::uint8_t (&codes)[32]) noexcept {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 32; ++i) bits |= (codes[i] >> 4 & 1U) << i;
    return Le32::from(bits);
}

void encode(const float* values, BlockQ4_0& block) noexcept {
    std::uint8_t codes[32];
    block.d = Le16::from(f32_to_f16(encode_symmetric(values, 8, codes)));
    store_nibbles(codes, block.qs);
}

void encode(const float* values, BlockQ4_1& block) noexcept {
    std::uint8_t codes[32];
    const ScaleMin fit = encode_affine(values, 15, codes);
    block.d = Le16::from(f32_to_f16(fit.d));
    block.m = Le16::from(f32_to_f16(fit.m));
    store_nibbles(codes, block.qs);
}

void encode(const float* values, BlockQ5_0& block) noexcept {
    std::uint8_t codes[32];
    block.d = Le16::from(f32_to_f16(encode_symmetric(values, 16, codes)));
    block.qh = fifth_bits(codes);
    store_nibbles(codes, block.qs);
}

void encode(const float* values, BlockQ5_1& block) noexcept {
    std::uint8_t codes[32];
    const ScaleMin fit = encode_affine(values, 31, codes);
    block.d = Le16::from(f32_to_f16(fit.d));
    block.m = Le16::from(f32_to_f16(fit.m));
    block.qh = fifth_bits(codes);
    store_nibbles(codes, block.qs);
}

// d = max|x| / 127, q = x/d to the nearest, ties away from zero.
void encode(const float* values, BlockQ8_0& block) noexcept {
    float limited[32];
    limit_finite(values, limited, -kF16Largest * 127.0F, kF16Largest * 127.0F);
    const float d = std::fabs(extreme(limited)) / 127.0F;
    const float inverse = inverse_or_zero(d);
    block.d = Le16::from(f32_to_f16(d));
    for (std::size_t i = 0; i < 32; ++i) {
        block.qs[i] = static_cast<std::int8_t>(nearest_away(limited[i] * inverse, -127, 127));
    }
}

}  // namespace

DecodeBlocks legacy_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::q4_0: return decode_each<BlockQ4_0, decode>;
        case DType::q4_1: return decode_each<BlockQ4_1, decode>;
        case DType::q5_0: return decode_each<BlockQ5_0, decode>;
        case DType::q5_1: return decode_each<BlockQ5_1, decode>;
        case DType::q8_0: return decode_each<BlockQ8_0, decode>;
        case DType::q8_1: return decode_each<BlockQ8_1, decode>;
        default: return nullptr;
    }
}

EncodeBlocks legacy_encoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::q4_0: return encode_each<BlockQ4_0, encode>;
        case DType::q4_1: return encode_each<BlockQ4_1, encode>;
        case DType::q5_0: return encode_each<BlockQ5_0, encode>;
        case DType::q5_1: return encode_each<BlockQ5_1, encode>;
        case DType::q8_0: return encode_each<BlockQ8_0, encode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
