#include "kernels/quant/packed_linear.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/quant/half.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

using Bytes = std::vector<std::byte>;

// The weight decoded whole and row by row: both must agree.
template <class Weight>
std::vector<float> decoded(Status (*decode)(const Weight&, RowRange, std::span<float>) noexcept, const Weight& weight) {
    std::vector<float> values(static_cast<std::size_t>(weight.out * weight.in));
    const Status status = decode(weight, {0, weight.out}, values);
    INFO(status.message());
    REQUIRE(status.is_ok());
    std::vector<float> row(static_cast<std::size_t>(weight.in));
    for (std::int64_t o = 0; o < weight.out; ++o) {
        REQUIRE(decode(weight, {o, 1}, row).is_ok());
        const std::span<const float> expected(values.data() + o * weight.in, row.size());
        REQUIRE(test::first_difference(row, expected) == row.size());
    }
    return values;
}

Bytes f32_bytes(std::initializer_list<float> values) {
    Bytes bytes;
    for (const float value : values) {
        for (unsigned k = 0; k < 4; ++k) bytes.push_back(static_cast<std::byte>(f32_bits(value) >> 8 * k & 0xFFU));
    }
    return bytes;
}

// f16 scales as the same numbers in f32.
Bytes widened(const Bytes& halves) {
    Bytes bytes;
    for (std::size_t i = 0; i < halves.size(); i += 2) {
        const unsigned half = std::to_integer<unsigned>(halves[i]) | std::to_integer<unsigned>(halves[i + 1]) << 8;
        const Bytes one = f32_bytes({f16_to_f32(static_cast<std::uint16_t>(half))});
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
}

const test::Tensors& packed() {
    static const test::Tensors golden("packed.safetensors");
    return golden;
}

const test::Tensors& bitsandbytes() {
    static const test::Tensors golden("bitsandbytes.safetensors");
    return golden;
}

struct AwqCase {
    Bytes qweight = packed().bytes("awq.qweight"), qzeros = packed().bytes("awq.qzeros"),
          scales = packed().bytes("awq.scales");
    AwqWeight weight{
        .name = "awq", .out = 64, .in = 256, .group_size = 64, .qweight = qweight, .qzeros = qzeros, .scales = scales};
};

struct GptqCase {
    explicit GptqCase(const std::string& name)
        : qweight(packed().bytes(name + ".qweight")),
          qzeros(packed().bytes(name + ".qzeros")),
          scales(packed().bytes(name + ".scales")),
          g_idx(packed().bytes(name + ".g_idx")) {}
    Bytes qweight, qzeros, scales, g_idx;
    GptqWeight weight{.name = "gptq",
                      .out = 64,
                      .in = 256,
                      .group_size = 64,
                      .qweight = qweight,
                      .qzeros = qzeros,
                      .scales = scales,
                      .g_idx = g_idx};
};

struct Mxfp4Case {
    Bytes blocks = packed().bytes("mxfp4.blocks"), scales = packed().bytes("mxfp4.scales");
    Mxfp4Weight weight{.name = "mxfp4", .out = 3 * 32, .in = 4 * 32, .blocks = blocks, .scales = scales};
};

struct BlockF8Case {
    Bytes codes = packed().bytes("fp8.weight"), scales = packed().bytes("fp8.weight_scale_inv");
    BlockF8Weight weight{.name = "fp8", .out = 200, .in = 300, .codes = codes, .scales = scales};
};

struct Bnb4Case {
    explicit Bnb4Case(const std::string& name)
        : codes(bitsandbytes().bytes(name + ".weight")),
          quant_map(bitsandbytes().bytes(name + ".weight.quant_map")),
          absmax(bitsandbytes().bytes(name + ".weight.absmax")) {
        if (!bitsandbytes().has(name + ".weight.nested_absmax")) return;
        nested_absmax = bitsandbytes().bytes(name + ".weight.nested_absmax");
        nested_map = bitsandbytes().bytes(name + ".weight.nested_quant_map");
        // As written in quant_state: "nested_blocksize": 256, "nested_offset": 0.20725953578948975
        weight.nested = {
            .block_size = 256, .offset = 0.20725953578948975F, .absmax = nested_absmax, .quant_map = nested_map};
    }
    Bytes codes, quant_map, absmax, nested_absmax, nested_map;
    Bnb4Weight weight{.name = "bnb",
                      .out = 64,
                      .in = 256,
                      .block_size = 64,
                      .codes = codes,
                      .quant_map = quant_map,
                      .absmax = absmax,
                      .nested = {}};
};

struct BnbInt8Case {
    Bytes codes = bitsandbytes().bytes("int8.weight"), row_absmax = bitsandbytes().bytes("int8.SCB");
    BnbInt8Weight weight{.name = "int8", .out = 64, .in = 256, .codes = codes, .row_absmax = row_absmax};
};

void check_golden(const std::vector<float>& values, const std::vector<float>& expected) {
    CHECK(test::first_difference(values, expected) == expected.size());
}

// The decoder refuses with `code`, names the weight, and leaves the values alone.
template <class Weight>
void check_refused(Status (*decode)(const Weight&, RowRange, std::span<float>) noexcept, const Weight& weight,
                   std::string_view word, StatusCode code = StatusCode::invalid_argument) {
    std::vector<float> values(64 * 256, 7.0F);
    const Status status = decode(weight, {0, 64}, values);
    INFO(status.message());
    CHECK(status.code() == code);
    CHECK(status.message().find("'" + std::string(weight.name) + "'") != std::string_view::npos);
    CHECK(status.message().find(word) != std::string_view::npos);
    CHECK(values == std::vector<float>(64 * 256, 7.0F));
}

}  // namespace

TEST_CASE("AWQ weights decode to their owner's values bit for bit", "[kernels][short]") {
    AwqCase awq;
    const std::vector<float> expected = packed().floats("awq.values");
    check_golden(decoded(decode_awq, awq.weight), expected);
    const Bytes scales = widened(awq.scales);
    awq.weight.scales = scales;
    awq.weight.scale_dtype = DType::f32;
    check_golden(decoded(decode_awq, awq.weight), expected);
}

TEST_CASE("GPTQ weights decode bit for bit, with the groups in order and shuffled", "[kernels][short]") {
    GptqCase in_order("gptq");
    check_golden(decoded(decode_gptq, in_order.weight), packed().floats("gptq.values"));
    in_order.weight.g_idx = {};  // the same groups without saying so
    check_golden(decoded(decode_gptq, in_order.weight), packed().floats("gptq.values"));
    check_golden(decoded(decode_gptq, GptqCase("gptq_act").weight), packed().floats("gptq_act.values"));
}

TEST_CASE("GPTQ's second format stores zero points as they are, and the last group may be short", "[kernels][short]") {
    const Bytes qweight(2 * 8 * 4, std::byte{0x99});  // [16 / 8, 8]: every code 9
    Bytes qzeros(2 * 1 * 4, std::byte{0x22});         // [2 groups, 8 / 8]: every zero point 2
    qzeros[4] = std::byte{0xF2};                      // but 15 for the second output in the second group
    const Bytes scales = f32_bytes({1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2});
    GptqWeight weight{.name = "w",
                      .out = 8,
                      .in = 16,
                      .group_size = 12,
                      .qweight = qweight,
                      .qzeros = qzeros,
                      .scales = scales,
                      .g_idx = {},
                      .scale_dtype = DType::f32};
    std::vector<float> values = decoded(decode_gptq, weight);
    CHECK(values[11] == 6.0F);
    CHECK(values[12] == 12.0F);
    CHECK(values[16 + 12] == -14.0F);  // 9 - (15 + 1), not masked to four bits
    weight.zero_offset = 0;
    values = decoded(decode_gptq, weight);
    CHECK(values[11] == 7.0F);
    CHECK(values[12] == 14.0F);
    CHECK(values[16 + 12] == -12.0F);
}

TEST_CASE("MXFP4 experts decode bit for bit; their owner's values are transposed", "[kernels][short]") {
    const std::vector<float> values = decoded(decode_mxfp4, Mxfp4Case().weight);
    const std::vector<float> expected = packed().floats("mxfp4.values");  // [3, 128, 32]
    std::size_t wrong = 0;
    for (std::size_t expert = 0; expert < 3; ++expert) {
        for (std::size_t row = 0; row < 32; ++row) {
            for (std::size_t column = 0; column < 128; ++column) {
                const float value = values[(expert * 32 + row) * 128 + column];
                wrong += test::same_bits(value, expected[(expert * 128 + column) * 32 + row]) ? 0 : 1;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(values.size() == expected.size());
}

TEST_CASE("an MXFP4 scale of 255 makes its 32 weights NaN and no others", "[kernels][short]") {
    Mxfp4Case mxfp4;
    mxfp4.scales[5] = std::byte{0xFF};
    const std::vector<float> values = decoded(decode_mxfp4, mxfp4.weight);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i]) != (i / 32 == 5)) FAIL("element " << i);
    }
}

TEST_CASE("block-scaled FP8 decodes bit for bit, with ragged blocks at both edges", "[kernels][short]") {
    check_golden(decoded(decode_block_f8, BlockF8Case().weight), packed().floats("fp8.values"));
}

TEST_CASE("one FP8 block is a per-tensor scale, one-row blocks are a scale per output", "[kernels][short]") {
    const Bytes codes(4, std::byte{0x38});  // e4m3 1.0
    const Bytes one = f32_bytes({3.0F});
    const Bytes two = f32_bytes({3.0F, 5.0F});
    BlockF8Weight weight{.name = "w", .out = 2, .in = 2, .codes = codes, .scales = one};
    CHECK(decoded(decode_block_f8, weight) == std::vector<float>{3, 3, 3, 3});
    weight.block_rows = 1;
    weight.block_columns = 2;
    weight.scales = two;
    CHECK(decoded(decode_block_f8, weight) == std::vector<float>{3, 3, 5, 5});
}

TEST_CASE("bitsandbytes' NF4 and FP4 decode bit for bit, plain and nested", "[kernels][short]") {
    for (const std::string name : {"nf4", "fp4", "nf4_nested", "fp4_nested"}) {
        INFO(name);
        check_golden(decoded(decode_bnb_4bit, Bnb4Case(name).weight), bitsandbytes().floats(name + ".values"));
    }
}

TEST_CASE("an odd number of bitsandbytes codes leaves the last half byte unread", "[kernels][short]") {
    Bnb4Case nf4("nf4");
    const Bytes codes = {std::byte{0xF0}, std::byte{0x7A}};
    const Bytes absmax = f32_bytes({2.0F, 4.0F});
    nf4.weight = {.name = "w",
                  .out = 1,
                  .in = 3,
                  .block_size = 2,
                  .codes = codes,
                  .quant_map = nf4.quant_map,
                  .absmax = absmax,
                  .nested = {}};
    CHECK(decoded(decode_bnb_4bit, nf4.weight) == std::vector<float>{2.0F, -2.0F, 0.0F});
}

TEST_CASE("bitsandbytes' int8 decodes bit for bit", "[kernels][short]") {
    check_golden(decoded(decode_bnb_int8, BnbInt8Case().weight), bitsandbytes().floats("int8.values"));
}

TEST_CASE("packed weights of any bytes decode to something", "[kernels][short]") {
    for (const unsigned pattern : {0x00U, 0xFFU, 0x80U}) {
        const auto fill = [pattern](auto&... bytes) {
            ((bytes.assign(bytes.size(), static_cast<std::byte>(pattern))), ...);
        };
        AwqCase awq;
        fill(awq.qweight, awq.qzeros, awq.scales);
        decoded(decode_awq, awq.weight);
        GptqCase gptq("gptq_act");
        fill(gptq.qweight, gptq.qzeros, gptq.scales);
        decoded(decode_gptq, gptq.weight);
        Mxfp4Case mxfp4;
        fill(mxfp4.blocks, mxfp4.scales);
        decoded(decode_mxfp4, mxfp4.weight);
        BlockF8Case fp8;
        fill(fp8.codes, fp8.scales);
        decoded(decode_block_f8, fp8.weight);
        Bnb4Case nested("nf4_nested");
        fill(nested.codes, nested.quant_map, nested.absmax, nested.nested_absmax, nested.nested_map);
        decoded(decode_bnb_4bit, nested.weight);
        BnbInt8Case int8;
        fill(int8.codes, int8.row_absmax);
        decoded(decode_bnb_int8, int8.weight);
    }
}

TEST_CASE("a span that does not hold what the extents need is refused by name", "[kernels][short]") {
    const auto one_less = [](std::span<const std::byte>& bytes) { bytes = bytes.first(bytes.size() - 1); };
    const auto refused = [&](auto decode, auto weight, auto member, std::string_view word) {
        one_less(weight.*member);
        check_refused(decode, weight, word);
    };
    const AwqCase awq;
    refused(decode_awq, awq.weight, &AwqWeight::qweight, "qweight");
    refused(decode_awq, awq.weight, &AwqWeight::qzeros, "qzeros");
    refused(decode_awq, awq.weight, &AwqWeight::scales, "scales");
    const GptqCase gptq("gptq_act");
    refused(decode_gptq, gptq.weight, &GptqWeight::qweight, "qweight");
    refused(decode_gptq, gptq.weight, &GptqWeight::qzeros, "qzeros");
    refused(decode_gptq, gptq.weight, &GptqWeight::scales, "scales");
    refused(decode_gptq, gptq.weight, &GptqWeight::g_idx, "g_idx");
    const BnbInt8Case int8;
    refused(decode_bnb_int8, int8.weight, &BnbInt8Weight::codes, "codes");
    refused(decode_bnb_int8, int8.weight, &BnbInt8Weight::row_absmax, "row_absmax");
    for (const std::string name : {"nf4", "nf4_nested"}) {
        const Bnb4Case bnb(name);
        refused(decode_bnb_4bit, bnb.weight, &Bnb4Weight::codes, "codes");
        refused(decode_bnb_4bit, bnb.weight, &Bnb4Weight::quant_map, "quant_map");
        refused(decode_bnb_4bit, bnb.weight, &Bnb4Weight::absmax, "absmax");
    }
    Bnb4Case nested("nf4_nested");
    one_less(nested.weight.nested->absmax);
    check_refused(decode_bnb_4bit, nested.weight, "nested_absmax");
    nested.weight.nested->absmax = nested.nested_absmax;
    one_less(nested.weight.nested->quant_map);
    check_refused(decode_bnb_4bit, nested.weight, "nested_quant_map");
    // These two have other extents than 64 x 256: take as many of their rows as fit.
    Mxfp4Case mxfp4;
    mxfp4.weight.out = 64;
    mxfp4.weight.in = 256;
    check_refused(decode_mxfp4, mxfp4.weight, "blocks");
    mxfp4.blocks.resize(64 * 128);
    mxfp4.weight.blocks = mxfp4.blocks;
    check_refused(decode_mxfp4, mxfp4.weight, "scales");
    BlockF8Case fp8;
    fp8.weight.out = 64;
    fp8.weight.in = 256;
    check_refused(decode_block_f8, fp8.weight, "codes");
    fp8.weight.codes = fp8.weight.codes.first(64 * 256);
    check_refused(decode_block_f8, fp8.weight, "scales");
}

TEST_CASE("extents that do not fit each other are refused", "[kernels][short]") {
    const auto with = [](auto weight, const auto& change) {
        change(weight);
        return weight;
    };
    const AwqCase awq;
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.group_size = 48; }), "multiple of 48");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.group_size = 0; }), "group_size");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.group_size = -64; }), "group_size");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.scale_dtype = DType::i32; }), "i32");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.scale_dtype = DType::q4_0; }), "q4_0");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.in = INT64_MAX; }), "64 bits");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.out = 63; }), "63");
    check_refused(decode_awq, with(awq.weight, [](AwqWeight& w) { w.in = 0; }), "at least 1");
    const GptqCase gptq("gptq");
    check_refused(decode_gptq, with(gptq.weight, [](GptqWeight& w) { w.zero_offset = 2; }), "zero_offset");
    check_refused(decode_gptq, with(gptq.weight, [](GptqWeight& w) { w.group_size = 0; }), "group_size");
    const Bnb4Case bnb("nf4_nested");
    check_refused(decode_bnb_4bit, with(bnb.weight, [](Bnb4Weight& w) { w.block_size = 0; }), "block_size");
    check_refused(decode_bnb_4bit, with(bnb.weight, [](Bnb4Weight& w) { w.nested->block_size = -1; }),
                  "nested_block_size");
    BlockF8Case fp8;
    fp8.weight.out = 64;
    fp8.weight.in = 256;
    check_refused(decode_block_f8, with(fp8.weight, [](BlockF8Weight& w) { w.block_rows = 0; }), "block_rows");
    check_refused(decode_block_f8, with(fp8.weight, [](BlockF8Weight& w) { w.block_columns = -1; }), "block_columns");
    check_refused(decode_block_f8, with(fp8.weight, [](BlockF8Weight& w) { w.code_dtype = DType::bf16; }), "f8");
}

TEST_CASE("rows outside the weight, and room of another size, are refused", "[kernels][short]") {
    const BnbInt8Case int8;
    std::vector<float> row(256, 7.0F);
    for (const RowRange rows : {RowRange{-1, 1}, RowRange{64, 1}, RowRange{0, -1}, RowRange{1, INT64_MAX},
                                RowRange{INT64_MAX, 1}, RowRange{0, 2}, RowRange{0, 0}}) {
        const Status status = decode_bnb_int8(int8.weight, rows, row);
        INFO(rows.first << ", " << rows.count << ": " << status.message());
        CHECK(status.code() == StatusCode::invalid_argument);
        CHECK(row == std::vector<float>(256, 7.0F));
    }
    CHECK(decode_bnb_int8(int8.weight, {64, 0}, {}).is_ok());
    CHECK(decode_bnb_int8(int8.weight, {63, 1}, row).is_ok());
}

TEST_CASE("a GPTQ group index outside its groups is a broken file", "[kernels][short]") {
    GptqCase gptq("gptq");
    gptq.g_idx[4 * 200] = std::byte{4};
    check_refused(decode_gptq, gptq.weight, "g_idx[200] is 4, expected 0 to 3", StatusCode::corrupt_file);
    for (std::size_t k = 0; k < 4; ++k) gptq.g_idx[4 * 200 + k] = std::byte{0xFF};
    check_refused(decode_gptq, gptq.weight, "g_idx[200] is -1", StatusCode::corrupt_file);
}
