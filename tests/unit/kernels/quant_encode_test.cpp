#include "kernels/quant/encode.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/half.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

constexpr DType kBlockFormats[] = {
    DType::q4_0,    DType::q4_1,    DType::q5_0,     DType::q5_1,       DType::q8_0,        DType::tq1_0,
    DType::tq2_0,   DType::mxfp4,   DType::q4_k,     DType::q5_k,       DType::q6_k,        DType::iq4_nl,
    DType::int4_32, DType::int4_64, DType::int4_128, DType::f8_e4m3_32, DType::f8_e4m3_128, DType::nf4};

std::vector<std::byte> encoded(DType dtype, std::span<const float> values) {
    const DTypeInfo& info = dtype_info(dtype);
    const std::size_t blocks = values.size() / static_cast<std::size_t>(info.block_elements);
    std::vector<std::byte> packed(blocks * static_cast<std::size_t>(info.block_bytes));
    encoder(dtype)(values.data(), packed.data(), blocks);
    return packed;
}

std::vector<float> there_and_back(DType dtype, std::span<const float> values) {
    std::vector<float> back(values.size());
    const std::vector<std::byte> packed = encoded(dtype, values);
    decoder(dtype)(packed.data(), back.data(), packed.size() / static_cast<std::size_t>(dtype_info(dtype).block_bytes));
    return back;
}

// √(Σ(x - y)² / Σx²)
double relative_error(std::span<const float> x, std::span<const float> y) {
    double error = 0.0;
    double norm = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = static_cast<double>(x[i]);
        const double difference = exact - static_cast<double>(y[i]);
        error += difference * difference;
        norm += exact * exact;
    }
    return std::sqrt(error / norm);
}

// Independent normal numbers with deviation 0.02, the size of a trained weight (Box and Muller's method).
std::vector<float> gaussian(std::size_t count, std::uint32_t key) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const PhiloxCounter random = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {key, 0});
        const double radius = std::sqrt(-2.0 * std::log(1.0 - unit_double(random[0], random[1])));
        const double angle = 6.283185307179586 * unit_double(random[2], random[3]);
        values[i] = static_cast<float>(0.02 * radius * std::cos(angle));
    }
    return values;
}

}  // namespace

TEST_CASE("an encoder gives its owner's bytes", "[kernels][short]") {
    const test::Tensors golden("quants.safetensors");
    const std::pair<const char*, DType> formats[] = {
        {"BF16", DType::bf16},   {"Q4_0", DType::q4_0},   {"Q4_1", DType::q4_1},
        {"Q5_0", DType::q5_0},   {"Q5_1", DType::q5_1},   {"Q8_0", DType::q8_0},
        {"TQ1_0", DType::tq1_0}, {"TQ2_0", DType::tq2_0}, {"MXFP4", DType::mxfp4}};
    for (const auto& [name, dtype] : formats) {
        INFO(name);
        const std::vector<float> source = golden.floats(std::string(name) + ".source");
        CHECK(encoded(dtype, source) == golden.bytes(std::string(name) + ".packed"));
    }
}

TEST_CASE("f32 and f16 are encoded value by value", "[kernels][short]") {
    const std::vector<float> values = {1.0F, -0.0F, 65520.0F, std::numeric_limits<float>::infinity(), 0x1p-24F, 0.1F};
    const std::vector<float> as_f32 = there_and_back(DType::f32, values);
    CHECK(test::first_difference(as_f32, values) == values.size());
    const std::vector<float> as_f16 = there_and_back(DType::f16, values);
    for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(test::same_bits(as_f16[i], f16_to_f32(f32_to_f16(values[i]))));
    CHECK(std::isnan(there_and_back(DType::f16, std::vector<float>{std::nanf("")})[0]));
    CHECK(std::isnan(there_and_back(DType::bf16, std::vector<float>{std::nanf("")})[0]));
}

TEST_CASE("q8_0 rounds to the nearest code, ties away from zero", "[kernels][short]") {
    std::vector<float> values(32, 0.0F);
    const float given[] = {127.0F, 0.5F, -0.5F, 2.5F, -2.5F, std::nextafter(0.5F, 0.0F), 126.5F};  // the scale is 1
    const float expected[] = {127.0F, 1.0F, -1.0F, 3.0F, -3.0F, 0.0F, 127.0F};
    std::copy(std::begin(given), std::end(given), values.begin());
    const std::vector<float> back = there_and_back(DType::q8_0, values);
    for (std::size_t i = 0; i < std::size(expected); ++i) CHECK(back[i] == expected[i]);
}

TEST_CASE("only the formats listed have an encoder", "[kernels][short]") {
    std::size_t count = 0;
    for (const DTypeInfo& info : all_dtypes()) {
        if (encoder(info.dtype) != nullptr) ++count;
    }
    CHECK(count == std::size(kBlockFormats) + 3);  // and f32, f16, bf16
    CHECK(encoder(DType::unknown) == nullptr);
}

// The bounds: gguf 0.19 has no encoder of these two, so ggml 0.13.1 (as the package pywhispercpp 1.5.1 ships it) was
// given the same numbers through ggml_quantize_chunk, without an importance matrix, and decoded by its own functions.
TEST_CASE("q4_k and q6_k err less than the published encoders", "[kernels][short]") {
    struct Case {
        const char* name;
        std::vector<float> values;
        double published_q4_k;
        double published_q6_k;
    };
    std::vector<float> outliers = gaussian(1024 * 256, 2);
    for (std::size_t i = 0; i < outliers.size(); i += 37) outliers[i] *= 10.0F;
    const std::vector<float> golden = test::Tensors("quants.safetensors").floats("Q4_0.source");
    const Case cases[] = {
        {"262,144 gaussian numbers", gaussian(1024 * 256, 1), 0.0713401, 0.0177503},
        {"the same with every 37th ten times larger", outliers, 0.1007659, 0.0310610},
        {"the golden source of Q4_0", golden, 0.0745821, 0.0208815},
    };
    for (const Case& data : cases) {
        const double q4_k = relative_error(data.values, there_and_back(DType::q4_k, data.values));
        const double q6_k = relative_error(data.values, there_and_back(DType::q6_k, data.values));
        INFO(data.name << ": q4_k " << q4_k << ", q6_k " << q6_k);
        CHECK(q4_k < data.published_q4_k);
        CHECK(q6_k < data.published_q6_k);
    }
    const std::vector<float>& gauss = cases[0].values;
    CHECK(relative_error(gauss, there_and_back(DType::q4_k, gauss)) <= kQ4KGaussianError);
    CHECK(relative_error(gauss, there_and_back(DType::q6_k, gauss)) <= kQ6KGaussianError);
}

TEST_CASE("finer formats err less than coarser ones", "[kernels][short]") {
    const std::vector<float> values = gaussian(1024 * 256, 1);
    const auto error_of = [&](DType dtype) { return relative_error(values, there_and_back(dtype, values)); };
    CHECK(error_of(DType::q5_k) < error_of(DType::q5_1));
    CHECK(error_of(DType::q5_k) < 0.55 * error_of(DType::q4_k));
    CHECK(error_of(DType::iq4_nl) < error_of(DType::q4_0));
    CHECK(error_of(DType::int4_32) < error_of(DType::int4_64));
    CHECK(error_of(DType::int4_64) < error_of(DType::int4_128));
    CHECK(error_of(DType::nf4) < error_of(DType::int4_128));
}

TEST_CASE("the forms of AWQ, GPTQ, bitsandbytes and FP8 give every number its nearest code", "[kernels][short]") {
    const std::vector<float> values = gaussian(256 * 256, 6);
    const auto extremes_of = [&](std::size_t i, std::size_t block) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i / block * block);
        const auto [low, high] = std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(block));
        return std::pair(std::min(*low, 0.0F), std::max(*high, 0.0F));
    };
    for (const DType dtype :
         {DType::int4_32, DType::int4_64, DType::int4_128, DType::f8_e4m3_32, DType::f8_e4m3_128, DType::nf4}) {
        INFO(dtype_name(dtype));
        const auto block = static_cast<std::size_t>(dtype_info(dtype).block_elements);
        const std::vector<float> back = there_and_back(dtype, values);
        std::size_t worse = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto [low, high] = extremes_of(i, block);
            const float largest = std::max(-low, high);
            // Half of what lies between neighbours; 0.1 % for scales that were rounded to f16.  At the ends a zero
            // point that is rounded takes up to half a step more.
            float bound = 0.5005F * (high - low) / 15.0F;
            if (values[i] <= low + (high - low) / 15.0F || values[i] >= high - (high - low) / 15.0F) bound *= 2.0F;
            if (dtype == DType::nf4) bound = 0.1519F * largest;  // (1 - 0.6962) / 2, the widest
            if (dtype == DType::f8_e4m3_32 || dtype == DType::f8_e4m3_128)
                bound = std::max(std::fabs(values[i]) / 16.0F, largest / 448.0F * 0x1p-10F) * 1.0001F;
            if (!(std::fabs(back[i] - values[i]) <= bound)) ++worse;
        }
        CHECK(worse == 0);
    }
}

TEST_CASE("blocks of one value keep it", "[kernels][short]") {
    for (const DType dtype : kBlockFormats) {
        for (const float value : {0.0F, 1.0F, -1.0F, 0.5F, -4096.0F}) {
            INFO(dtype_name(dtype) << " " << value);
            const std::vector<float> values(512, value);
            // MXFP4 has ±1, ±½ and ±4096 exactly; the others have one scale that is fitted to the value.
            const double tolerance = 0.002 * std::fabs(static_cast<double>(value));
            for (const float back : there_and_back(dtype, values)) {
                CHECK(std::fabs(static_cast<double>(back) - static_cast<double>(value)) <= tolerance);
            }
        }
    }
}

TEST_CASE("an encoder of blocks makes finite numbers of anything", "[kernels][short]") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const DType dtype : kBlockFormats) {
        INFO(dtype_name(dtype));
        std::size_t not_finite = 0;
        const auto count_not_finite = [&](std::span<const float> values) {
            for (const float value : there_and_back(dtype, values)) not_finite += std::isfinite(value) ? 0 : 1;
        };
        for (const float value : {FLT_MAX, -FLT_MAX, infinity, -infinity, std::nanf(""), -std::nanf(""), FLT_MIN,
                                  FLT_TRUE_MIN, -FLT_TRUE_MIN, 0x1p-127F, 0x1p-25F, 65520.0F, 1e9F, -1e9F}) {
            count_not_finite(std::vector<float>(256, value));
            std::vector<float> mixed = gaussian(256, 3);
            mixed[17] = value;
            mixed[200] = -value;
            count_not_finite(mixed);
        }
        // Every exponent, signs and NaNs included: words at random, taken as floats.
        std::vector<float> words(256 * 256);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i] = std::bit_cast<float>(philox4x32({static_cast<std::uint32_t>(i), 1, 0, 0}, {4, 0})[0]);
        }
        count_not_finite(words);
        CHECK(not_finite == 0);
    }
}

TEST_CASE("in blocks a NaN is encoded as 0 and an infinity as the largest float", "[kernels][short]") {
    for (const DType dtype : kBlockFormats) {
        INFO(dtype_name(dtype));
        std::vector<float> odd = gaussian(256, 5);
        std::vector<float> plain = odd;
        odd[3] = std::nanf("");
        plain[3] = 0.0F;
        odd[100] = std::numeric_limits<float>::infinity();
        plain[100] = FLT_MAX;
        odd[255] = -std::numeric_limits<float>::infinity();
        plain[255] = -FLT_MAX;
        CHECK(encoded(dtype, odd) == encoded(dtype, plain));
    }
}

TEST_CASE("an mxfp4 scale is exact just below a power of two, and 2^-128 for the smallest numbers",
          "[kernels][short]") {
    std::vector<float> values(32, 0.0F);
    values[0] = std::nextafter(1024.0F, 0.0F);
    CHECK(encoded(DType::mxfp4, values)[0] == std::byte{127 + 9 - 2});
    values[0] = 1024.0F;
    CHECK(encoded(DType::mxfp4, values)[0] == std::byte{127 + 10 - 2});
    values[0] = 0x1p-126F;
    CHECK(encoded(DType::mxfp4, values)[0] == std::byte{0});
    CHECK(there_and_back(DType::mxfp4, values)[0] == 0x1p-126F);
    values[0] = FLT_MAX;
    CHECK(encoded(DType::mxfp4, values)[0] == std::byte{127 + 127 - 2});
    values[0] = FLT_TRUE_MIN;
    CHECK(there_and_back(DType::mxfp4, values)[0] == 0.0F);
}
