#include "support/weights.hpp"

#include <cmath>
#include <cstring>

#include "kernels/layout.hpp"
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/half.hpp"

namespace mixtura::test {
namespace {

// Where a block keeps f16 scales, and which of them are minimums.
struct HalfField {
    DType dtype;
    std::size_t offset;
};
constexpr HalfField kHalfFields[] = {
    {DType::q4_0, 0},    {DType::q4_1, 0},    {DType::q4_1, 2},    {DType::q5_0, 0},     {DType::q5_1, 0},
    {DType::q5_1, 2},    {DType::q8_0, 0},    {DType::q8_1, 0},    {DType::q2_k, 80},    {DType::q2_k, 82},
    {DType::q3_k, 108},  {DType::q4_k, 0},    {DType::q4_k, 2},    {DType::q5_k, 0},     {DType::q5_k, 2},
    {DType::q6_k, 208},  {DType::iq1_s, 0},   {DType::iq2_xxs, 0}, {DType::iq2_xs, 0},   {DType::iq2_s, 0},
    {DType::iq3_xxs, 0}, {DType::iq3_s, 0},   {DType::iq4_nl, 0},  {DType::iq4_xs, 0},   {DType::tq1_0, 52},
    {DType::tq2_0, 64},  {DType::int4_32, 0}, {DType::int4_64, 0}, {DType::int4_128, 0},
};

void tame_block(DType dtype, std::byte* block, Random& random) {
    const auto magnitude = [&random] { return std::exp2(-12.0F + 6.0F * random.uniform()); };
    for (const HalfField& field : kHalfFields) {
        if (field.dtype == dtype) store_field(block + field.offset, 0, Le16::from(f32_to_f16(magnitude())));
    }
    if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(116 + random.bits() % 8);
    if (scaled_format(dtype) != nullptr) {
        store_field(block, 0, Le32::from(f32_bits(magnitude())));
        for (std::int64_t i = 4; dtype != DType::nf4 && i < dtype_info(dtype).block_bytes; ++i)
            if ((block[i] & std::byte{0x7F}) == std::byte{0x7F}) block[i] = std::byte{0x7E};  // no NaN
    }
    if (dtype == DType::q8_k) store_field(block, 0, Le32::from(f32_bits(magnitude())));
    if (dtype == DType::iq1_m) {
        for (std::size_t i = 0; i < 4; ++i) {  // the top four bits of each make d: 0x1800 is 2^-9
            const unsigned low = load_field<Le16>(block + 48, i).value() & 0x0FFFU;
            store_field(block + 48, i,
                        Le16::from(static_cast<std::uint16_t>(low | (i == 3   ? 0x1000U
                                                                     : i == 2 ? 0x8000U
                                                                              : 0U))));
        }
    }
}

void plain_element(DType dtype, std::byte* element, Random& random) {
    const float value = random.gaussian();
    switch (dtype) {
        case DType::f64: {
            const double wide = value;
            return std::memcpy(element, &wide, 8), void();
        }
        case DType::f32: return store_field(element, 0, Le32::from(f32_bits(value)));
        case DType::f16: return store_field(element, 0, Le16::from(f32_to_f16(value)));
        case DType::bf16: return store_field(element, 0, Le16::from(f32_to_bf16(value)));
        default: return;  // f8, f6, f4: any bytes will do
    }
}

}  // namespace

std::uint32_t Random::bits() {
    state_ += 0x9E37'79B9'7F4A'7C15U;  // splitmix64
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9U;
    z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBU;
    return static_cast<std::uint32_t>((z ^ z >> 31) >> 32);
}

float Random::uniform() { return static_cast<float>(bits() >> 8) * 0x1p-23F - 1.0F; }

float Random::gaussian() {
    float sum = 0;
    for (int i = 0; i < 3; ++i) sum += uniform();  // each has variance 1/3
    return sum;
}

std::vector<std::byte> arbitrary_weights(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const DTypeInfo& info = dtype_info(dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows * (columns / info.block_elements) * info.block_bytes));
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits() & 0xFFU);
    return bytes;
}

std::vector<std::byte> random_weights(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    std::vector<std::byte> bytes = arbitrary_weights(dtype, rows, columns, seed);
    const auto block_bytes = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
    Random random(seed + 1);
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
        tame_block(dtype, bytes.data() + at, random);
        plain_element(dtype, bytes.data() + at, random);
    }
    return bytes;
}

void set_scales(DType dtype, std::byte* block, std::uint16_t half) {
    for (const HalfField& field : kHalfFields) {
        if (field.dtype == dtype) store_field(block + field.offset, 0, Le16::from(half));
    }
    if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(half & 0xFFU);
    if (scaled_format(dtype) != nullptr) store_field(block, 0, Le32::from(f32_bits(f16_to_f32(half))));
}

std::vector<float> random_activations(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    std::vector<float> x(static_cast<std::size_t>(rows * columns));
    Random random(seed);
    for (std::int64_t t = 0; t < rows; ++t) {
        float* row = x.data() + t * columns;
        for (std::int64_t k = 0; k < columns; ++k) {
            const float value = random.gaussian();
            const auto block = static_cast<int>(k / 32);
            switch (t % 8) {
                case 1: row[k] = block % 2 == 0 ? 0.0F : value; break;
                case 2: row[k] = random.bits() % 64 == 0 ? value * 1000.0F : value; break;
                case 3: row[k] = value < 0 ? -3.0F : 3.0F; break;
                case 4: row[k] = value * 0x1p-130F; break;
                case 5: row[k] = value * std::ldexp(1.0F, -100 + block % 3 - 1); break;
                case 6: row[k] = value * 1e18F; break;
                default: row[k] = value; break;
            }
        }
    }
    return x;
}

std::vector<DType> multipliable_dtypes() {
    std::vector<DType> dtypes;
    for (const DTypeInfo& info : all_dtypes()) {
        if (packed_bytes(info.dtype, 16, 256)) dtypes.push_back(info.dtype);
    }
    return dtypes;
}

}  // namespace mixtura::test
