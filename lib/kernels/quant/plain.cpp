// The plain types of safetensors and GGUF: one element (f6: four, f4: two) a block, no scale.
// Source: the safetensors format description; half.hpp says what each code means.
#include "kernels/quant/families.hpp"
#include "kernels/quant/half.hpp"

namespace mixtura::detail {
namespace {

// To the nearest f32, ties to even; past the largest f32 the value is infinite.
void decode_f64(const std::byte* packed, float* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(std::bit_cast<double>(load_field<Le64>(packed, i).value()));
    }
}

void decode_f32(const std::byte* packed, float* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) values[i] = load_f32(packed, i);
}

template <float (*kToF32)(std::uint16_t) noexcept>
void decode_16_bit(const std::byte* packed, float* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) values[i] = kToF32(load_field<Le16>(packed, i).value());
}

template <float (*kToF32)(std::uint8_t) noexcept>
void decode_8_bit(const std::byte* packed, float* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) values[i] = kToF32(std::to_integer<std::uint8_t>(packed[i]));
}

// Four codes of 6 bits in three bytes, read as one little-endian number, the first element in its lowest bits.
template <float (*kToF32)(unsigned) noexcept>
void decode_6_bit(const std::byte* packed, float* values, std::size_t block_count) noexcept {
    for (std::size_t i = 0; i < block_count; ++i) {
        const auto byte = [&](std::size_t k) { return std::to_integer<unsigned>(packed[3 * i + k]); };
        const unsigned codes = byte(0) | byte(1) << 8 | byte(2) << 16;
        for (std::size_t k = 0; k < 4; ++k) values[4 * i + k] = kToF32(codes >> 6 * k & 0x3FU);
    }
}

// Two codes of 4 bits in a byte, the first element in the low half.
void decode_f4(const std::byte* packed, float* values, std::size_t block_count) noexcept {
    for (std::size_t i = 0; i < block_count; ++i) {
        const auto codes = std::to_integer<unsigned>(packed[i]);
        values[2 * i] = f4_e2m1_to_f32(codes & 0xFU);
        values[2 * i + 1] = f4_e2m1_to_f32(codes >> 4);
    }
}

void encode_f32(const float* values, std::byte* packed, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) store_field(packed, i, Le32::from(f32_bits(values[i])));
}

template <std::uint16_t (*kFromF32)(float) noexcept>
void encode_16_bit(const float* values, std::byte* packed, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) store_field(packed, i, Le16::from(kFromF32(values[i])));
}

}  // namespace

DecodeBlocks plain_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::f64: return decode_f64;
        case DType::f32: return decode_f32;
        case DType::f16: return decode_16_bit<f16_to_f32>;
        case DType::bf16: return decode_16_bit<bf16_to_f32>;
        case DType::f8_e4m3: return decode_8_bit<f8_e4m3_to_f32>;
        case DType::f8_e5m2: return decode_8_bit<f8_e5m2_to_f32>;
        case DType::f8_e8m0: return decode_8_bit<f8_e8m0_to_f32>;
        case DType::f8_e4m3fnuz: return decode_8_bit<f8_e4m3fnuz_to_f32>;
        case DType::f8_e5m2fnuz: return decode_8_bit<f8_e5m2fnuz_to_f32>;
        case DType::f6_e2m3: return decode_6_bit<f6_e2m3_to_f32>;
        case DType::f6_e3m2: return decode_6_bit<f6_e3m2_to_f32>;
        case DType::f4_e2m1: return decode_f4;
        default: return nullptr;
    }
}

EncodeBlocks plain_encoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32: return encode_f32;
        case DType::f16: return encode_16_bit<f32_to_f16>;
        case DType::bf16: return encode_16_bit<f32_to_bf16>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
