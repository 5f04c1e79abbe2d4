#include "kernels/integer_format.hpp"

#include "kernels/quant/blocks.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/k_scales.hpp"

namespace mixtura {
namespace {

// The low halves of 16 bytes are elements 0 to 15, the high halves 16 to 31.
void read_nibbles(const std::uint8_t* bytes, std::uint8_t* codes) noexcept {
    for (std::size_t i = 0; i < 16; ++i) {
        codes[i] = bytes[i] & 0xFU;
        codes[16 + i] = static_cast<std::uint8_t>(bytes[i] >> 4);
    }
}

// K formats spread 64 elements over 32 bytes: low halves, then high halves.
void read_wide_nibbles(const std::uint8_t* bytes, std::uint8_t* codes) noexcept {
    for (std::size_t i = 0; i < 32; ++i) {
        codes[i] = bytes[i] & 0xFU;
        codes[32 + i] = static_cast<std::uint8_t>(bytes[i] >> 4);
    }
}

void add_bit(std::uint8_t& code, unsigned word, std::size_t at, unsigned place) noexcept {
    code = static_cast<std::uint8_t>(code | (word >> at & 1U) << place);
}

void read(const BlockQ4_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles(block.qs, unit.codes);
}

void read(const BlockQ4_1& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.m.value();
    read_nibbles(block.qs, unit.codes);
}

void read(const BlockQ5_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles(block.qs, unit.codes);
    for (std::size_t i = 0; i < 32; ++i) add_bit(unit.codes[i], block.qh.value(), i, 4);
}

void read(const BlockQ5_1& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.m.value();
    read_nibbles(block.qs, unit.codes);
    for (std::size_t i = 0; i < 32; ++i) add_bit(unit.codes[i], block.qh.value(), i, 4);
}

void read(const BlockQ8_0& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t i = 0; i < 32; ++i) unit.codes[i] = static_cast<std::uint8_t>(block.qs[i] + 128);
}

// Element 128 n + 32 j + l is bits 2j of byte 32 n + l; the same places hold the lower bits of q3_k.
std::uint8_t two_bits(const std::uint8_t (&qs)[64], std::size_t element) noexcept {
    const std::size_t n = element / 128, j = element / 32 % 4, l = element % 32;
    return qs[32 * n + l] >> 2 * j & 3U;
}

void read(const BlockQ2_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    unit.dmin = block.dmin.value();
    for (std::size_t i = 0; i < 256; ++i) unit.codes[i] = two_bits(block.qs, i);
    for (std::size_t g = 0; g < 16; ++g) {
        unit.scales[g] = static_cast<std::int8_t>(block.scales[g] & 0xFU);
        unit.minimums[g] = static_cast<std::uint8_t>(block.scales[g] >> 4);
    }
}

void read(const BlockQ3_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t i = 0; i < 256; ++i) {
        unit.codes[i] = two_bits(block.qs, i);
        add_bit(unit.codes[i], block.hmask[i % 32], i / 32, 2);
    }
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

void read(const BlockQ4_K& block, IntegerUnit& unit) noexcept {
    read_scale_minimums(block, unit);
    for (std::size_t j = 0; j < 4; ++j) read_wide_nibbles(block.qs + 32 * j, unit.codes + 64 * j);
}

void read(const BlockQ5_K& block, IntegerUnit& unit) noexcept {
    read_scale_minimums(block, unit);
    for (std::size_t j = 0; j < 4; ++j) read_wide_nibbles(block.qs + 32 * j, unit.codes + 64 * j);
    for (std::size_t i = 0; i < 256; ++i) add_bit(unit.codes[i], block.qh[i % 32], i / 32, 4);
}

void read(const BlockQ6_K& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t i = 0; i < 256; ++i) {
        const std::size_t n = i / 128, j = i / 32 % 4, l = i % 32;
        const unsigned low = block.ql[64 * n + 32 * (j % 2) + l] >> 4 * (j / 2) & 0xFU;
        const unsigned high = block.qh[32 * n + l] >> 2 * j & 3U;
        unit.codes[i] = static_cast<std::uint8_t>(low | high << 4);
    }
    for (std::size_t g = 0; g < 16; ++g) unit.scales[g] = block.scales[g];
}

void read(const BlockIq4Nl& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    read_nibbles(block.qs, unit.codes);
}

void read(const BlockIq4Xs& block, IntegerUnit& unit) noexcept {
    unit.d = block.d.value();
    for (std::size_t g = 0; g < 8; ++g) {
        const unsigned low = block.scales_l[g / 2] >> 4 * (g % 2) & 0xFU;
        const unsigned high = static_cast<unsigned>(block.scales_h.value()) >> 2 * g & 3U;
        unit.scales[g] = static_cast<std::int8_t>(static_cast<int>(low | high << 4) - 32);
        read_nibbles(block.qs + 16 * g, unit.codes + 32 * g);
    }
}

void read(const BlockMxfp4& block, IntegerUnit& unit) noexcept {
    unit.d = block.e;
    read_nibbles(block.qs, unit.codes);
}

}  // namespace

void read_unit(const IntegerFormat& format, const std::byte* block, IntegerUnit& unit) noexcept {
    unit = {};
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
