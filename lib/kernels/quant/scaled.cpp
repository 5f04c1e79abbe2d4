// Our own rows of what checkpoints store in several tensors, decoded: float codes with an f32 scale
// (scaled_format.hpp), 4-bit integers with a scale and a zero point (integer_format.hpp).
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/families.hpp"
#include "kernels/scaled_format.hpp"

namespace mixtura::detail {
namespace {

template <std::size_t kCount>
void decode(const BlockE4m3<kCount>& block, float* values) noexcept {
    const float scale = e4m3_scale(f32_from_bits(block.scale.value()), block.codes, kCount);
    for (std::size_t i = 0; i < kCount; ++i) values[i] = e4m3_value(block.codes[i]) * scale;
}

template <std::size_t kCount>
void decode(const BlockInt4<kCount>& block, float* values) noexcept {
    const float d = f16_to_f32(block.d.value());
    const int zero = block.zero & 31;
    for (std::size_t i = 0; i < kCount; ++i) {
        const int code = block.qs[i / 32 * 16 + i % 16] >> 4 * (i / 16 % 2) & 0xF;
        values[i] = d * static_cast<float>(code - zero);
    }
}

void decode(const BlockNf4& block, float* values) noexcept {
    const float scale = f32_from_bits(block.scale.value());
    for (std::size_t i = 0; i < 64; ++i) values[i] = kNf4Map[block.qs[i / 2] >> 4 * (1 - i % 2) & 0xF] * scale;
}

}  // namespace

DecodeBlocks scaled_decoder(DType dtype) noexcept {
    switch (dtype) {
        case DType::f8_e4m3_32: return decode_each<BlockE4m3<32>, decode<32>>;
        case DType::f8_e4m3_128: return decode_each<BlockE4m3<128>, decode<128>>;
        case DType::int4_32: return decode_each<BlockInt4<32>, decode<32>>;
        case DType::int4_64: return decode_each<BlockInt4<64>, decode<64>>;
        case DType::int4_128: return decode_each<BlockInt4<128>, decode<128>>;
        case DType::nf4: return decode_each<BlockNf4, decode>;
        default: return nullptr;
    }
}

}  // namespace mixtura::detail
