// Decoding of GGUF's "k" formats: super-blocks of 256 elements whose sub-blocks of 16 or 32 have scales (and minimums)
// that are themselves quantised.  q45_k_encode.cpp and q6_k_encode.cpp encode three of them.
// Source: the GGUF specification; the order of float operations is that of gguf 0.19.
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/k_scales.hpp"

namespace mixtura::detail {
namespace {

// 2-bit code of element e: a half of 128 elements lies in 32 bytes, quarter by quarter in ever higher bits.
unsigned two_bits(const std::uint8_t (&qs)[64], std::size_t e) noexcept {
    return qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3U;
}

// 4-bit code of element e: 64 elements lie in 32 bytes, the first 32 in the low halves.
unsigned four_bits(const std::uint8_t (&qs)[128], std::size_t e) noexcept {
    return qs[32 * (e / 64) + e % 32] >> 4 * (e / 32 % 2) & 0xFU;
}

// One bit an element: 32 bytes hold those of 32 neighbours, the e/32-th bit of each byte.
unsigned one_bit(const std::uint8_t (&bits)[32], std::size_t e) noexcept { return bits[e % 32] >> e / 32 & 1U; }

// value = (d · scale) · q - (dmin · minimum), sub-blocks of 16, q in 0 … 3
void decode(const BlockQ2_K& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const float dmin = f16_to_f32(block.dmin.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const unsigned codes = block.scales[e / 16];
        const float scale = d * static_cast<float>(codes & 0xFU);
        const float minimum = dmin * static_cast<float>(codes >> 4);
        values[e] = scale * static_cast<float>(two_bits(block.qs, e)) - minimum;
    }
}

// Scale code of sub-block s of 16: bits 0 to 3 in the halves of bytes 0 … 7 (the first eight sub-blocks low), bits 4
// and 5 in bytes 8 … 11, four sub-blocks a byte with s mod 4 naming the byte.  Stored plus 32.
int q3_k_scale(const std::uint8_t (&scales)[12], std::size_t s) noexcept {
    const unsigned low = scales[s % 8] >> 4 * (s / 8) & 0xFU;
    const unsigned high = scales[8 + s % 4] >> 2 * (s / 4) & 3U;
    return static_cast<int>(low | high << 4) - 32;
}

// value = (d · scale) · q, sub-blocks of 16, q in -4 … 3: the third bit is stored inverted, as "do not subtract 4"
void decode(const BlockQ3_K& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const float scale = d * static_cast<float>(q3_k_scale(block.scales, e / 16));
        const int q = static_cast<int>(two_bits(block.qs, e)) - (one_bit(block.hmask, e) != 0 ? 0 : 4);
        values[e] = scale * static_cast<float>(q);
    }
}

// value = (d · scale) · q - (dmin · minimum), sub-blocks of 32, q in 0 … 15
void decode(const BlockQ4_K& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const float dmin = f16_to_f32(block.dmin.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const ScaleMinCodes codes = load_scale_min(block.scales, e / 32);
        const float scale = d * static_cast<float>(codes.scale);
        const float minimum = dmin * static_cast<float>(codes.minimum);
        values[e] = scale * static_cast<float>(four_bits(block.qs, e)) - minimum;
    }
}

// value = (d · scale) · q - (dmin · minimum), sub-blocks of 32, q in 0 … 31
void decode(const BlockQ5_K& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const float dmin = f16_to_f32(block.dmin.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const ScaleMinCodes codes = load_scale_min(block.scales, e / 32);
        const float scale = d * static_cast<float>(codes.scale);
        const float minimum = dmin * static_cast<float>(codes.minimum);
        const unsigned q = four_bits(block.qs, e) | one_bit(block.qh, e) << 4;
        values[e] = scale * static_cast<float>(q) - minimum;
    }
}

// value = (d · scale) · (q - 32), sub-blocks of 16.  Of each half of 128 elements the lower four bits lie in 64 bytes
// (the first 64 elements in the low halves), the upper two in 32 bytes, quarter by quarter in ever higher bits.
void decode(const BlockQ6_K& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const unsigned low = block.ql[64 * (e / 128) + e % 64] >> 4 * (e / 64 % 2) & 0xFU;
        const unsigned high = two_bits(block.qh, e);
        const float scale = d * static_cast<float>(block.scales[e / 16]);
        values[e] = scale * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    }
}

// value = d · q; the only one with an f32 scale
void decode(const BlockQ8_K& block, float* values) noexcept {
    const float d = f32_from_bits(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) values[e] = d * static_cast<float>(block.qs[e]);
}

}  // namespace

DecodeBlocks k_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::q2_k: return decode_each<BlockQ2_K, decode>;
        case DType::q3_k: return decode_each<BlockQ3_K, decode>;
        case DType::q4_k: return decode_each<BlockQ4_K, decode>;
        case DType::q5_k: return decode_each<BlockQ5_K, decode>;
        case DType::q6_k: return decode_each<BlockQ6_K, decode>;
        case DType::q8_k: return decode_each<BlockQ8_K, decode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
