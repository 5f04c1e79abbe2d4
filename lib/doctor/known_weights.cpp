#include "doctor/known_weights.hpp"

#include "kernels/quant/half.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura {
namespace {

// A format that comes new has the checksum that self_test() names, once the kernels' own tests hold for it.
constexpr KnownFormat kFormats[] = {
    {DType::f32, 0x01CB'C80D'FC65'8CCA},        {DType::f16, 0xDC71'3BDA'7FD5'F793},
    {DType::bf16, 0xE07E'8A29'4892'4DA7},       {DType::q4_0, 0x1804'49DF'E37E'5C8E},
    {DType::q4_1, 0x00A8'F8A0'6AB3'AEF7},       {DType::q5_0, 0xC789'D460'4583'1F11},
    {DType::q5_1, 0x6A1F'934A'6FE9'8BCE},       {DType::q8_0, 0x8A9A'ED14'0426'A5C2},
    {DType::q2_k, 0x8CFA'CDDE'FD77'966C},       {DType::q3_k, 0x747E'6161'0C56'8E8B},
    {DType::q4_k, 0x656E'A77B'D143'978D},       {DType::q5_k, 0xFB36'3E6A'9272'0D87},
    {DType::q6_k, 0x04E8'9978'0E0B'192A},       {DType::iq4_nl, 0x5635'82E7'7136'6BF0},
    {DType::iq4_xs, 0x95A2'F8F5'AFA6'AFB0},     {DType::mxfp4, 0x14B8'2894'6DC3'9C29},
    {DType::f8_e4m3_32, 0xD05D'8831'A9C2'86DB}, {DType::f8_e4m3_128, 0xFB76'8128'3810'671C},
    {DType::int4_32, 0x9324'0C17'F8C0'D98D},    {DType::int4_64, 0x9264'79BB'8CF2'AABD},
    {DType::int4_128, 0xA0C1'F039'9747'FB61},   {DType::nf4, 0x4EE0'0516'B2C0'93E3},
};

// Where a block has an f16 scale (kernels/quant/blocks.hpp), and the power of two that makes weights of the size wanted
// out of its codes: -6 for codes within ±8, -14 for the products of two 6-bit codes, which is also f16's least normal.
struct ScaleField {
    DType dtype;
    std::size_t offset_bytes;
    int exponent;
    bool is_negative = false;
};
constexpr ScaleField kScales[] = {
    {DType::q4_0, 0, -6},    {DType::q4_1, 0, -6},       {DType::q4_1, 2, -3, true}, {DType::q5_0, 0, -7},
    {DType::q5_1, 0, -7},    {DType::q5_1, 2, -3, true}, {DType::q8_0, 0, -10},      {DType::q2_k, 80, -8},
    {DType::q2_k, 82, -8},   {DType::q3_k, 108, -10},    {DType::q4_k, 0, -13},      {DType::q4_k, 2, -10},
    {DType::q5_k, 0, -14},   {DType::q5_k, 2, -10},      {DType::q6_k, 208, -14},    {DType::iq4_nl, 0, -10},
    {DType::iq4_xs, 0, -14}, {DType::int4_32, 0, -8},    {DType::int4_64, 0, -8},    {DType::int4_128, 0, -8},
};

// A scale between 2^exponent and twice that: a sign, five bits of exponent and ten at random.
std::uint16_t random_half(const ScaleField& field, std::uint32_t word) noexcept {
    constexpr int kBias = 15;
    const auto exponent = static_cast<unsigned>(field.exponent + kBias) << 10;
    return static_cast<std::uint16_t>((field.is_negative ? 0x8000U : 0U) | exponent | (word & 0x3FFU));
}

void fill_block(DType dtype, std::span<std::byte> block, KnownNumbers& numbers) {
    std::byte* const bytes = block.data();
    if (dtype == DType::f32) return store_field(bytes, 0, Le32::from(f32_bits(numbers.number(0.25F))));
    if (dtype == DType::f16) return store_field(bytes, 0, Le16::from(f32_to_f16(numbers.number(0.25F))));
    if (dtype == DType::bf16) return store_field(bytes, 0, Le16::from(f32_to_bf16(numbers.number(0.25F))));
    for (std::size_t i = 0; i < block.size(); i += 4) {
        const std::uint32_t word = numbers.word();
        for (std::size_t k = 0; k < 4 && i + k < block.size(); ++k)
            block[i + k] = static_cast<std::byte>(word >> 8 * k & 0xFFU);
    }
    for (const ScaleField& field : kScales) {
        if (field.dtype == dtype)
            store_field(bytes + field.offset_bytes, 0, Le16::from(random_half(field, numbers.word())));
    }
    // A code c of its scale is 2^(c - 128), the values behind it are 0 to ±12.
    if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(121 + numbers.word() % 2);
    // A weight is a scale between 2^-3 and twice that times a number of the map, within ±1.
    if (dtype == DType::nf4) store_field(bytes, 0, Le32::from((127U - 3U) << 23 | (numbers.word() & 0x7F'FFFFU)));
    // Zero points about the middle of the codes, as published models have them.
    if (dtype == DType::int4_32 || dtype == DType::int4_64 || dtype == DType::int4_128)
        block[2] = static_cast<std::byte>(4 + numbers.word() % 9);
    if (dtype == DType::f8_e4m3_32 || dtype == DType::f8_e4m3_128) {
        // Codes reach 448, the scale lies between 2^-12 and twice that; NaN codes become their neighbours.
        store_field(bytes, 0, Le32::from((127U - 12U) << 23 | (numbers.word() & 0x7F'FFFFU)));
        for (std::byte& code : block.subspan(4)) {
            if ((code & std::byte{0x7F}) == std::byte{0x7F}) code ^= std::byte{1};
        }
    }
}

}  // namespace

std::span<const KnownFormat> known_formats() noexcept { return kFormats; }

std::vector<float> KnownNumbers::numbers(std::int64_t count, float size) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& one : all) one = number(size);
    return all;
}

std::vector<std::byte> known_weights(DType dtype, std::int64_t rows, std::int64_t columns, KnownNumbers numbers) {
    const DTypeInfo& info = dtype_info(dtype);
    const auto block_bytes = static_cast<std::size_t>(info.block_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows * (columns / info.block_elements)) * block_bytes);
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes)
        fill_block(dtype, {bytes.data() + at, block_bytes}, numbers);
    return bytes;
}

}  // namespace mixtura
