#include "kernels/quant/decode.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

// Fills bytes with one value, or with random ones where `pattern` is above 255.
void fill(std::span<std::byte> bytes, unsigned pattern) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const unsigned random = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {pattern, 0})[0] & 0xFFU;
        bytes[i] = static_cast<std::byte>(pattern > 255 ? random : pattern);
    }
}

std::vector<float> decoded(DType dtype, std::span<const std::byte> packed) {
    const DTypeInfo& info = dtype_info(dtype);
    const std::size_t blocks = packed.size() / static_cast<std::size_t>(info.block_bytes);
    std::vector<float> values(blocks * static_cast<std::size_t>(info.block_elements));
    decoder(dtype)(packed.data(), values.data(), blocks);
    return values;
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
    std::vector<std::byte> bytes;
    for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

}  // namespace

TEST_CASE("each of the 24 block formats decodes to its owner's values bit for bit", "[kernels][short]") {
    const test::Tensors golden("quants.safetensors");
    const std::pair<const char*, DType> formats[] = {
        {"BF16", DType::bf16},       {"Q4_0", DType::q4_0},       {"Q4_1", DType::q4_1},     {"Q5_0", DType::q5_0},
        {"Q5_1", DType::q5_1},       {"Q8_0", DType::q8_0},       {"Q2_K", DType::q2_k},     {"Q3_K", DType::q3_k},
        {"Q4_K", DType::q4_k},       {"Q5_K", DType::q5_k},       {"Q6_K", DType::q6_k},     {"IQ1_S", DType::iq1_s},
        {"IQ1_M", DType::iq1_m},     {"IQ2_XXS", DType::iq2_xxs}, {"IQ2_XS", DType::iq2_xs}, {"IQ2_S", DType::iq2_s},
        {"IQ3_XXS", DType::iq3_xxs}, {"IQ3_S", DType::iq3_s},     {"IQ4_NL", DType::iq4_nl}, {"IQ4_XS", DType::iq4_xs},
        {"TQ1_0", DType::tq1_0},     {"TQ2_0", DType::tq2_0},     {"MXFP4", DType::mxfp4},   {"NVFP4", DType::nvfp4}};
    for (const auto& [name, dtype] : formats) {
        INFO(name);
        const std::vector<float> expected = golden.floats(std::string(name) + ".values");
        const std::vector<float> values = decoded(dtype, golden.bytes(std::string(name) + ".packed"));
        CHECK(expected.size() == 6 * 512);
        CHECK(test::first_difference(values, expected) == expected.size());
    }
}

TEST_CASE("float types have a decoder, integers and unknown numbers have none", "[kernels][short]") {
    for (const DTypeInfo& info : all_dtypes()) {
        INFO(info.name);
        const bool is_integer_or_complex = info.dtype >= DType::c64 && info.dtype <= DType::boolean;
        CHECK((decoder(info.dtype) == nullptr) == is_integer_or_complex);
    }
    CHECK(decoder(DType::unknown) == nullptr);
    CHECK(decoder(static_cast<DType>(9999)) == nullptr);
}

TEST_CASE("a decoder takes any bytes at any address, and touches its blocks alone", "[kernels][short]") {
    constexpr float kBefore = 12345.0F;
    constexpr float kOther = -54321.0F;
    for (const DTypeInfo& info : all_dtypes()) {
        const DecodeBlocks decode = decoder(info.dtype);
        if (decode == nullptr) continue;
        const auto block_bytes = static_cast<std::size_t>(info.block_bytes);
        const auto block_elements = static_cast<std::size_t>(info.block_elements);
        for (const unsigned pattern : {0x00U, 0xFFU, 0x7FU, 0x80U, 0x55U, 1000U, 1001U, 1002U}) {
            for (const std::size_t blocks : {std::size_t{1}, std::size_t{3}}) {
                INFO(info.name << ", pattern " << pattern << ", " << blocks << " blocks");
                std::vector<std::byte> packed(1 + blocks * block_bytes);  // ends where the last block ends
                fill(packed, pattern);
                // Two runs over different old contents agree, so every value was written; the neighbours stay.
                std::vector<float> first(blocks * block_elements + 2, kBefore);
                std::vector<float> second(blocks * block_elements + 2, kOther);
                decode(packed.data() + 1, first.data() + 1, blocks);
                decode(packed.data() + 1, second.data() + 1, blocks);
                CHECK((first.front() == kBefore && first.back() == kBefore));
                const std::span<const float> inner(first.data() + 1, blocks * block_elements);
                CHECK(test::first_difference(inner, {second.data() + 1, inner.size()}) == inner.size());
                // A run of blocks is the blocks one by one.
                std::vector<float> one(block_elements);
                for (std::size_t b = 0; b < blocks; ++b) {
                    decode(packed.data() + 1 + b * block_bytes, one.data(), 1);
                    CHECK(test::first_difference(one, inner.subspan(b * block_elements, block_elements)) ==
                          block_elements);
                }
                if (pattern == 0 && info.dtype != DType::f8_e8m0) {
                    for (const float value : inner) CHECK(value == 0.0F);
                }
            }
        }
        decode(nullptr, nullptr, 0);  // no blocks: nothing is touched
    }
}

TEST_CASE("q8_1 and q8_k multiply their codes by their scale and ignore their sums", "[kernels][short]") {
    std::vector<std::byte> q8_1(36, std::byte{0xFF});
    q8_1[0] = std::byte{0x00};
    q8_1[1] = std::byte{0x38};  // f16 0.5
    q8_1[4] = std::byte{100};
    const std::vector<float> small = decoded(DType::q8_1, q8_1);
    CHECK(small[0] == 50.0F);
    CHECK(small[31] == -0.5F);

    std::vector<std::byte> q8_k(292, std::byte{0x80});
    q8_k[0] = q8_k[1] = std::byte{0};
    q8_k[2] = std::byte{0x40};
    q8_k[3] = std::byte{0x3F};  // f32 0.75
    q8_k[259] = std::byte{4};
    const std::vector<float> large = decoded(DType::q8_k, q8_k);
    CHECK(large[0] == -96.0F);
    CHECK(large[255] == 3.0F);
}

TEST_CASE("f64 rounds to f32, and sub-byte elements start in the low bits", "[kernels][short]") {
    CHECK(decoded(DType::f64, bytes_of({0, 0, 0, 0, 0, 0, 0xF8, 0xBF}))[0] == -1.5F);
    CHECK(decoded(DType::f64, bytes_of({0, 0, 0, 0x10, 0, 0, 0xF0, 0x3F}))[0] == 1.0F);  // 1 + 2^-24, a tie
    CHECK(decoded(DType::f64, bytes_of({1, 0, 0, 0x10, 0, 0, 0xF0, 0x3F}))[0] == 1.0F + 0x1p-23F);
    CHECK(std::isinf(decoded(DType::f64, bytes_of({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0x7F}))[0]));
    CHECK(decoded(DType::f4_e2m1, bytes_of({0xA7})) == std::vector<float>{6.0F, -1.0F});
    // Codes 1, 2, 3, 63 as one little-endian number: 63·2^18 + 3·2^12 + 2·2^6 + 1.
    CHECK(decoded(DType::f6_e2m3, bytes_of({0x81, 0x30, 0xFC})) == std::vector<float>{0.125F, 0.25F, 0.375F, -7.5F});
    CHECK(decoded(DType::f6_e3m2, bytes_of({0x81, 0x30, 0xFC})) ==
          std::vector<float>{0.0625F, 0.125F, 0.1875F, -28.0F});
}

TEST_CASE("the odd scale bytes of mxfp4 and nvfp4 mean what the reference makes of them", "[kernels][short]") {
    std::vector<std::byte> mxfp4(17, std::byte{0x91});  // codes 1 and 9: ±1 in doubled e2m1
    const std::pair<unsigned, float> scales[] = {
        {0, 0x1p-128F}, {1, 0x1p-127F}, {2, 0x1p-126F}, {128, 1.0F}, {255, 0x1p127F}};
    for (const auto& [byte, scale] : scales) {
        mxfp4[0] = static_cast<std::byte>(byte);
        CHECK(decoded(DType::mxfp4, mxfp4)[0] == scale);
        CHECK(decoded(DType::mxfp4, mxfp4)[16] == -scale);
    }
    std::vector<std::byte> nvfp4(36, std::byte{0x11});  // code 1 everywhere
    nvfp4[0] = std::byte{0x7F};                         // e4m3's NaN: 0
    nvfp4[1] = std::byte{0xFF};                         // the top bit is not read, nor is this the byte above: 480 / 2
    nvfp4[2] = std::byte{0x80};
    nvfp4[3] = std::byte{0xB8};
    const std::vector<float> values = decoded(DType::nvfp4, nvfp4);
    CHECK(values[0] == 0.0F);
    CHECK(values[16] == 240.0F);
    CHECK(values[32] == 0.0F);
    CHECK(values[48] == 0.5F);
}
