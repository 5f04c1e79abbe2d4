// GGUF's "i" formats: eight or four magnitudes at a time are one index into a fixed grid (iq_tables.hpp), or each is an
// index into sixteen uneven steps (IQ4).  Super-blocks of 256 elements, but for IQ4_NL's blocks of 32.
// Source: the GGUF specification; the order of float operations is that of gguf 0.19.
#include <bit>

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/iq_tables.hpp"

namespace mixtura::detail {
namespace {

// Magnitude j (of 8, 2 bits each) of an entry of the 2-bit grids, of 4 (3 bits each) of the 3-bit grids.
constexpr float kMagnitudes2[4] = {8.0F, 25.0F, 43.0F, 0.0F};  // no entry has code 3
constexpr float kMagnitudes3Xxs[8] = {4.0F, 12.0F, 20.0F, 28.0F, 36.0F, 44.0F, 52.0F, 62.0F};
constexpr float kMagnitudes3S[8] = {1.0F, 3.0F, 5.0F, 7.0F, 9.0F, 11.0F, 13.0F, 15.0F};
unsigned code_2(std::uint16_t entry, std::size_t j) noexcept { return entry >> 2 * j & 3U; }
unsigned code_3(std::uint16_t entry, std::size_t j) noexcept { return entry >> 3 * j & 7U; }

// 4-bit code number i of an array, the low half of a byte first.
template <std::size_t kBytes>
unsigned nibble(const std::uint8_t (&bytes)[kBytes], std::size_t i) noexcept {
    return bytes[i / 2] >> 4 * (i % 2) & 0xFU;
}

// Bit j of eight signs, 1 for minus.
float sign(unsigned bits, std::size_t j) noexcept { return (bits >> j & 1U) != 0 ? -1.0F : 1.0F; }

// Signs of eight elements from seven bits: the number of minus signs is always even, which gives the eighth.
unsigned even_signs(unsigned seven) noexcept { return seven | (static_cast<unsigned>(std::popcount(seven)) & 1U) << 7; }

// value = (d · (½ + scale) · ¼ · magnitude) · sign, one scale for 32 elements
void decode(const BlockIq2Xxs& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const BlockIq2Xxs::Group& group = block.groups[e / 32];
        const std::uint32_t signs_scale = group.signs_scale.value();
        const float scale = d * (0.5F + static_cast<float>(signs_scale >> 28)) * 0.25F;
        const unsigned signs = even_signs(signs_scale >> 7 * (e / 8 % 4) & 0x7FU);
        const std::uint16_t entry = kIq2XxsGrid[group.indices[e / 8 % 4]];
        values[e] = scale * kMagnitudes2[code_2(entry, e % 8)] * sign(signs, e % 8);
    }
}

// As IQ2_XXS, with 9-bit indices and one scale for 16 elements
void decode(const BlockIq2Xs& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const unsigned index_signs = block.qs[e / 8].value();
        const float scale = d * (0.5F + static_cast<float>(nibble(block.scales, e / 16))) * 0.25F;
        const std::uint16_t entry = kIq2XsGrid[index_signs & 0x1FFU];
        values[e] = scale * kMagnitudes2[code_2(entry, e % 8)] * sign(even_signs(index_signs >> 9), e % 8);
    }
}

// As IQ2_XS, with 10-bit indices and all eight signs stored
void decode(const BlockIq2S& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t g = e / 8;
        const unsigned index = block.qs[g] | (block.qh[g / 4] >> 2 * (g % 4) & 3U) << 8;
        const float scale = d * (0.5F + static_cast<float>(nibble(block.scales, e / 16))) * 0.25F;
        values[e] = scale * kMagnitudes2[code_2(kIq2SGrid[index], e % 8)] * sign(block.signs[g], e % 8);
    }
}

// value = (d · (½ + scale) · ½ · magnitude) · sign, one scale for 32 elements, one index for 4
void decode(const BlockIq3Xxs& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const std::uint32_t signs_scale = block.signs_scale[e / 32].value();
        const float scale = d * (0.5F + static_cast<float>(signs_scale >> 28)) * 0.5F;
        const unsigned signs = even_signs(signs_scale >> 7 * (e / 8 % 4) & 0x7FU);
        const std::uint16_t entry = kIq3XxsGrid[block.qs[e / 4]];
        values[e] = scale * kMagnitudes3Xxs[code_3(entry, e % 4)] * sign(signs, e % 8);
    }
}

// value = (d · (1 + 2·scale) · magnitude) · sign, one scale for 32 elements, one 9-bit index for 4
void decode(const BlockIq3S& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t g = e / 4;
        const unsigned index = block.qs[g] | (block.qh[g / 8] >> g % 8 & 1U) << 8;
        const float scale = d * static_cast<float>(1 + 2 * nibble(block.scales, e / 32));
        values[e] = scale * kMagnitudes3S[code_3(kIq3SGrid[index], e % 4)] * sign(block.signs[e / 8], e % 8);
    }
}

// Both IQ1 formats: digits -1, 0, 1 from the grid (stored plus 1), all eight shifted by ±⅛.
float shifted_digit(unsigned index, std::size_t j, bool shift_down) noexcept {
    return (static_cast<float>(code_2(kIq1Grid[index], j)) - 1.0F) + (shift_down ? -0.125F : 0.125F);
}

// value = (d · (2·scale + 1)) · (digit ± ⅛), one scale and one shift for 32 elements
void decode(const BlockIq1S& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const unsigned qh = block.qh[e / 32].value();
        const float scale = d * static_cast<float>(2 * (qh >> 12 & 7U) + 1);
        const unsigned index = block.qs[e / 8] | (qh >> 3 * (e / 8 % 4) & 7U) << 8;
        values[e] = scale * shifted_digit(index, e % 8, (qh & 0x8000U) != 0);
    }
}

// As IQ1_S, with one scale for 16 elements, one shift for 8, and d in pieces
void decode(const BlockIq1M& block, float* values) noexcept {
    unsigned d_bits = 0;
    for (std::size_t i = 0; i < 4; ++i) d_bits |= (block.scales[i].value() >> 12U) << 4 * i;
    const float d = f16_to_f32(static_cast<std::uint16_t>(d_bits));
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t s = e / 16;
        const unsigned scale_code = block.scales[s / 4].value() >> 3 * (s % 4) & 7U;
        const float scale = d * static_cast<float>(2 * scale_code + 1);
        const unsigned qh = nibble(block.qh, e / 8);
        values[e] = scale * shifted_digit(block.qs[e / 8] | (qh & 7U) << 8, e % 8, (qh & 8U) != 0);
    }
}

// value = d · step[q], the low halves of the 16 bytes first
void decode(const BlockIq4Nl& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 32; ++e) {
        values[e] = d * static_cast<float>(kIq4Steps[block.qs[e % 16] >> 4 * (e / 16) & 0xFU]);
    }
}

// value = (d · (scale - 32)) · step[q], one 6-bit scale for 32 elements, whose codes lie as in IQ4_NL
void decode(const BlockIq4Xs& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t s = e / 32;
        const unsigned scale_code = nibble(block.scales_l, s) | (block.scales_h.value() >> 2 * s & 3U) << 4;
        const float scale = d * static_cast<float>(static_cast<int>(scale_code) - 32);
        values[e] = scale * static_cast<float>(kIq4Steps[block.qs[16 * s + e % 16] >> 4 * (e / 16 % 2) & 0xFU]);
    }
}

}  // namespace

DecodeBlocks iq_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::iq1_s: return decode_each<BlockIq1S, decode>;
        case DType::iq1_m: return decode_each<BlockIq1M, decode>;
        case DType::iq2_xxs: return decode_each<BlockIq2Xxs, decode>;
        case DType::iq2_xs: return decode_each<BlockIq2Xs, decode>;
        case DType::iq2_s: return decode_each<BlockIq2S, decode>;
        case DType::iq3_xxs: return decode_each<BlockIq3Xxs, decode>;
        case DType::iq3_s: return decode_each<BlockIq3S, decode>;
        case DType::iq4_nl: return decode_each<BlockIq4Nl, decode>;
        case DType::iq4_xs: return decode_each<BlockIq4Xs, decode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
