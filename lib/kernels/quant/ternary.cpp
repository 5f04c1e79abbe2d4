// GGUF's ternary formats TQ1_0 and TQ2_0: 256 elements of -1, 0 or 1 with one scale, decoded and encoded.
// Source: the GGUF specification; the order of float operations is that of gguf 0.19.
#include <cmath>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/rounding.hpp"

namespace mixtura::detail {
namespace {

constexpr unsigned kPowersOf3[5] = {1, 3, 9, 27, 81};

// Where element e of a TQ1_0 block lies: elements 0 … 159 in bytes 0 … 31, 160 … 239 in bytes 32 … 47 (five digits
// each), 240 … 255 in the four bytes of qh (four digits each).  Within a part, neighbours share a digit, not a byte.
struct DigitPlace {
    std::size_t byte;   // 48 and above: qh
    std::size_t digit;  // 0 is the most significant
};
constexpr DigitPlace digit_place(std::size_t e) noexcept {
    if (e < 160) return {e % 32, e / 32};
    if (e < 240) return {32 + (e - 160) % 16, (e - 160) / 16};
    return {48 + (e - 240) % 4, (e - 240) / 4};
}

// value = d · (digit - 1).  A byte b stands for the fraction b/256 with five base-3 digits: b · 3^k mod 256 moves digit
// k to the front, times 3, over 256 reads it.
void decode(const BlockTq1_0& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const DigitPlace place = digit_place(e);
        const unsigned byte = place.byte < 48 ? block.qs[place.byte] : block.qh[place.byte - 48];
        const unsigned digit = (byte * kPowersOf3[place.digit] & 0xFFU) * 3 >> 8;
        values[e] = d * (static_cast<float>(digit) - 1.0F);
    }
}

// value = d · (q - 1), q in 0 … 3 (an encoder writes 0 … 2); a half of 128 elements lies in 32 bytes, quarter by
// quarter in ever higher bits
void decode(const BlockTq2_0& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const unsigned q = block.qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3U;
        values[e] = d * (static_cast<float>(q) - 1.0F);
    }
}

// d = max|x|, digit = x/d to the nearest (ties away from zero), plus 1.  Returns d.
float encode_digits(const float* values, unsigned (&digits)[256]) noexcept {
    float limited[256];
    limit_finite(values, limited, -kF16Largest, kF16Largest);
    float d = 0.0F;
    for (const float value : limited) d = std::fmax(d, std::fabs(value));
    const float inverse = inverse_or_zero(d);
    for (std::size_t e = 0; e < 256; ++e)
        digits[e] = static_cast<unsigned>(nearest_away(limited[e] * inverse, -1, 1) + 1);
    return d;
}

// The five digits as a number n below 243, stored as the smallest byte b with b/256 >= n/243.
void encode(const float* values, BlockTq1_0& block) noexcept {
    unsigned digits[256];
    block.d = Le16::from(f32_to_f16(encode_digits(values, digits)));
    unsigned numbers[52] = {};
    for (std::size_t e = 0; e < 256; ++e) {
        const DigitPlace place = digit_place(e);
        numbers[place.byte] += digits[e] * kPowersOf3[4 - place.digit];
    }
    const auto byte_of = [&](std::size_t i) { return static_cast<std::uint8_t>((numbers[i] * 256 + 242) / 243); };
    for (std::size_t i = 0; i < 48; ++i) block.qs[i] = byte_of(i);
    for (std::size_t i = 0; i < 4; ++i) block.qh[i] = byte_of(48 + i);
}

void encode(const float* values, BlockTq2_0& block) noexcept {
    unsigned digits[256];
    block.d = Le16::from(f32_to_f16(encode_digits(values, digits)));
    for (std::size_t i = 0; i < 64; ++i) {
        const unsigned* half = digits + 128 * (i / 32) + i % 32;
        block.qs[i] = static_cast<std::uint8_t>(half[0] | half[32] << 2 | half[64] << 4 | half[96] << 6);
    }
}

}  // namespace

DecodeBlocks ternary_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::tq1_0: return decode_each<BlockTq1_0, decode>;
        case DType::tq2_0: return decode_each<BlockTq2_0, decode>;
        default: return nullptr;
    }
}

EncodeBlocks ternary_encoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::tq1_0: return encode_each<BlockTq1_0, encode>;
        case DType::tq2_0: return encode_each<BlockTq2_0, encode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
