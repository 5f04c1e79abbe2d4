#include "kernels/integer_format.hpp"

#include "kernels/byte_bits.hpp"
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/k_scales.hpp"

namespace mixtura {
namespace {

using detail::add_bits;
using detail::take_bits;

// The low halves of kCount bytes, then the high ones.
template <std::size_t kCount>
void read_nibbles(const std::uint8_t* bytes, std::uint8_t* codes) noexcept {
    take_bits<kCount>(bytes, 0, 0xF, 0, codes);
    take_bits<kCount>(bytes, 4, 0xF, 0, codes + kCount);
}

// Bit i of the word is the fifth bit of code i.  Eight bits go to eight bytes by a product: a copy of the byte in each,
// of which the mask keeps bit i in byte i; adding 0x7F carries any such bit up to the byte's highest.
void add_fifth_bits(std::uint32_t word, std::uint8_t* codes) noexcept {
    constexpr std::uint64_t kDiagonal = 0x8040'2010'0804'0201U;
    for (std::size_t i = 0; i < 4; ++i) {
        const std::uint64_t bits = detail::in_every_byte(word >> 8 * i) & kDiagonal;
        const std::uint64_t highest = ((bits & detail::in_every_byte(0x7F)) + detail::in_every_byte(0x7F)) | bits;
        const std::uint64_t fifth = highest >> 3 & detail::in_every_byte(0x10);
        std::uint8_t* at = codes + 8 * i;
        detail::store_word(at, detail::load_word(at) | detail::in_file_order(fifth));
    }
}

void read(const BlockQ4_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles<16>(block.qs, unit.codes);
}

void read(const BlockQ4_1& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.m.value();
    read_nibbles<16>(block.qs, unit.codes);
}

void read(const BlockQ5_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles<16>(block.qs, unit.codes);
    add_fifth_bits(block.qh.value(), unit.codes);
}

void read(const BlockQ5_1& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.m.value();
    read_nibbles<16>(block.qs, unit.codes);
    add_fifth_bits(block.qh.value(), unit.codes);
}

void read(const BlockQ8_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t i = 0; i < 32; i += 8) {  // + 128 flips a byte's highest bit
        detail::store_word(unit.codes + i, detail::load_word(block.qs + i) ^ detail::in_every_byte(0x80));
    }
}

// Element 128 n + 32 j + l is bits 2j of byte 32 n + l; the same places hold the lower bits of q3_k.
void read_two_bits(const std::uint8_t (&qs)[64], std::uint8_t* codes) noexcept {
    for (unsigned i = 0; i < 8; ++i) take_bits<32>(qs + i / 4 * 32, 2 * (i % 4), 3, 0, codes + 32 * i);
}

void read(const BlockQ2_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.dmin.value();
    read_two_bits(block.qs, unit.codes);
    take_bits<16>(block.scales, 0, 0xF, 0, unit.scales);
    take_bits<16>(block.scales, 4, 0xF, 0, unit.minimums);
}

void read(const BlockQ3_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_two_bits(block.qs, unit.codes);
    for (unsigned i = 0; i < 8; ++i) add_bits<32>(block.hmask, i, 1, 2, unit.codes + 32 * i);
    for (std::size_t g = 0; g < 16; ++g) {
        const unsigned low = block.scales[g % 8] >> 4 * (g / 8) & 0xFU;
        const unsigned high = block.scales[8 + g % 4] >> 2 * (g / 4) & 3U;
        unit.scales[g] = static_cast<std::int8_t>(static_cast<int>(low | high << 4) - 32);
    }
}

template <class Block>
void read_scale_minimums(const Block& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.dmin.value();
    for (std::size_t g = 0; g < 8; ++g) {
        const detail::ScaleMinCodes codes = detail::load_scale_min(block.scales, g);
        unit.scales[g] = static_cast<std::int8_t>(codes.scale);
        unit.minimums[g] = static_cast<std::uint8_t>(codes.minimum);
    }
}

// K formats spread 64 elements over 32 bytes.
void read(const BlockQ4_K& block, IntegerUnit& unit) noexcept {
    read_scale_minimums(block, unit);
    for (std::size_t j = 0; j < 4; ++j) read_nibbles<32>(block.qs + 32 * j, unit.codes + 64 * j);
}

void read(const BlockQ5_K& block, IntegerUnit& unit) noexcept {
    read_scale_minimums(block, unit);
    for (std::size_t j = 0; j < 4; ++j) read_nibbles<32>(block.qs + 32 * j, unit.codes + 64 * j);
    for (unsigned i = 0; i < 8; ++i) add_bits<32>(block.qh, i, 1, 4, unit.codes + 32 * i);
}

// Element 128 n + 32 j + l: the low four bits in byte 64 n + 32 (j % 2) + l, the high two in byte 32 n + l.
void read(const BlockQ6_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (unsigned i = 0; i < 8; ++i) {
        const unsigned n = i / 4, j = i % 4;
        take_bits<32>(block.ql + 64 * n + 32 * (j % 2), 4 * (j / 2), 0xF, 0, unit.codes + 32 * i);
        add_bits<32>(block.qh + 32 * n, 2 * j, 3, 4, unit.codes + 32 * i);
    }
    for (std::size_t g = 0; g < 16; ++g) unit.scales[g] = block.scales[g];
}

void read(const BlockIq4Nl& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles<16>(block.qs, unit.codes);
}

void read(const BlockIq4Xs& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t g = 0; g < 8; ++g) {
        const unsigned low = block.scales_l[g / 2] >> 4 * (g % 2) & 0xFU;
        const unsigned high = static_cast<unsigned>(block.scales_h.value()) >> 2 * g & 3U;
        unit.scales[g] = static_cast<std::int8_t>(static_cast<int>(low | high << 4) - 32);
        read_nibbles<16>(block.qs + 16 * g, unit.codes + 32 * g);
    }
}

void read(const BlockMxfp4& block, IntegerUnit& unit) noexcept {
    unit.d = block.e;
    read_nibbles<16>(block.qs, unit.codes);
}

template <std::size_t kCount>
void read(const BlockInt4<kCount>& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.zero = block.zero & 31U;
    for (std::size_t g = 0; g < kCount / 32; ++g) read_nibbles<16>(block.qs + 16 * g, unit.codes + 32 * g);
}

}  // namespace

void read_unit(const IntegerFormat& format, const std::byte* block, IntegerUnit& unit) noexcept {
    switch (format.dtype) {
        case DType::q4_0: return read(load_field<BlockQ4_0>(block), unit);
        case DType::q4_1: return read(load_field<BlockQ4_1>(block), unit);
        case DType::q5_0: return read(load_field<BlockQ5_0>(block), unit);
        case DType::q5_1: return read(load_field<BlockQ5_1>(block), unit);
        case DType::q8_0: return read(load_field<BlockQ8_0>(block), unit);
        case DType::q2_k: return read(load_field<BlockQ2_K>(block), unit);
        case DType::q3_k: return read(load_field<BlockQ3_K>(block), unit);
        case DType::q4_k: return read(load_field<BlockQ4_K>(block), unit);
        case DType::q5_k: return read(load_field<BlockQ5_K>(block), unit);
        case DType::q6_k: return read(load_field<BlockQ6_K>(block), unit);
        case DType::iq4_nl: return read(load_field<BlockIq4Nl>(block), unit);
        case DType::iq4_xs: return read(load_field<BlockIq4Xs>(block), unit);
        case DType::mxfp4: return read(load_field<BlockMxfp4>(block), unit);
        case DType::int4_32: return read(load_field<BlockInt4<32>>(block), unit);
        case DType::int4_64: return read(load_field<BlockInt4<64>>(block), unit);
        case DType::int4_128: return read(load_field<BlockInt4<128>>(block), unit);
        default: return;
    }
}

float group_scale(const IntegerFormat& format, std::uint16_t d, int scale_code) noexcept {
    const float scale = format.has_exponent_scale ? f8_e8m0_half_to_f32(static_cast<std::uint8_t>(d)) : f16_to_f32(d);
    return format.has_group_codes ? scale * static_cast<float>(scale_code) : scale;
}

float group_minimum(const IntegerFormat& format, std::uint16_t dmin, int minimum_code) noexcept {
    const float minimum = f16_to_f32(dmin);
    return format.has_group_codes ? minimum * static_cast<float>(minimum_code) : -minimum;
}

}  // namespace mixtura
