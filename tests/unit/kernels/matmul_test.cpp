#include "kernels/matmul.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/backend.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/ref/ref.hpp"
#include "kernels/unpack.hpp"
#include "parallel/thread_pool.hpp"
#include "support/fp_modes.hpp"
#include "support/product_tables.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

struct Product {
    DType dtype;
    std::int64_t rows, columns, tokens;
    std::vector<std::byte> weights;
    std::vector<float> x;
};

std::vector<std::byte> packed(const Product& p) {
    std::vector<std::byte> out(static_cast<std::size_t>(packed_bytes(p.dtype, p.rows, p.columns).value()));
    pack_rows(p.dtype, p.weights.data(), p.rows, p.columns, out.data());
    return out;
}

// By way of the packed matrix, `tokens_at_once` tokens a call.
std::vector<float> multiply(const Product& p, const std::vector<std::byte>& panels, const KernelTable& kernels,
                            ParallelFor& threads, std::int64_t tokens_at_once) {
    const std::int64_t blocks_per_row = p.columns / 32;
    std::vector<ActivationBlock> blocks(
        static_cast<std::size_t>(reads_blocks(p.dtype) ? p.tokens * blocks_per_row : 0));
    if (!blocks.empty())
        quantise_activations(kernels, threads, p.x.data(), p.columns, p.tokens, p.columns, blocks.data(),
                             blocks_per_row);
    const PackedMatrix matrix{.dtype = p.dtype, .rows = p.rows, .columns = p.columns, .data = panels.data()};
    std::vector<float> y(static_cast<std::size_t>(p.tokens * p.rows), -77.0F);
    for (std::int64_t t = 0; t < p.tokens; t += tokens_at_once) {
        const MatmulInput input{.values = p.x.data() + t * p.columns,
                                .values_stride = p.columns,
                                .blocks = blocks.empty() ? nullptr : blocks.data() + t * blocks_per_row,
                                .blocks_stride = blocks_per_row,
                                .token_count = std::min(tokens_at_once, p.tokens - t)};
        matmul(kernels, threads, matrix, input, y.data() + t * p.rows, p.rows);
    }
    return y;
}

std::vector<float> oracle(const Product& p) {
    std::vector<float> y(static_cast<std::size_t>(p.tokens * p.rows));
    ref::matmul_file_rows(p.dtype, p.weights.data(), p.rows, p.columns, p.x.data(), p.tokens, y.data());
    return y;
}

void check_everywhere(const Product& p) {
    const std::vector<float> expected = oracle(p);
    const std::vector<std::byte> panels = packed(p);
    SerialFor alone;
    for (const test::ProductTable& kernels : test::product_tables()) {
        for (const std::int64_t at_once : {p.tokens, std::int64_t{1}, std::int64_t{7}}) {
            const std::vector<float> y = multiply(p, panels, *kernels.table, alone, at_once);
            const std::size_t at = test::first_difference(y, expected);
            INFO(dtype_name(p.dtype) << " " << kernels.name << " [" << p.rows << ", " << p.columns << "] x " << p.tokens
                                     << " tokens, " << at_once << " at once, first difference at token "
                                     << at / static_cast<std::size_t>(p.rows) << " row "
                                     << at % static_cast<std::size_t>(p.rows));
            REQUIRE(at == expected.size());
        }
    }
}

}  // namespace

TEST_CASE("a product has the oracle's bits for every format, size and back-end, tokens alone or together",
          "[kernels][short]") {
    std::uint64_t seed = 1;
    for (const DType dtype : test::multipliable_dtypes()) {
        const std::int64_t unit = dtype_info(dtype).block_elements;
        for (const std::int64_t rows : {1, 15, 16, 17, 50}) {
            for (const std::int64_t columns : {unit < 32 ? 32 : unit, std::int64_t{768}}) {
                const std::int64_t tokens = rows == 50 ? 29 : rows == 17 ? 12 : 3;
                check_everywhere({dtype, rows, columns, tokens, test::random_weights(dtype, rows, columns, seed),
                                  test::random_activations(tokens, columns, seed + 100)});
                ++seed;
            }
        }
    }
}

TEST_CASE("a product has the oracle's bits for every number of tokens", "[kernels][short]") {
    for (const DType dtype : test::multipliable_dtypes()) {
        for (std::int64_t tokens = 1; tokens <= 26; ++tokens) {
            if (panel_kind(dtype) == PanelKind::file_rows && tokens % 8 != 1) continue;
            check_everywhere({dtype, 18, 256, tokens, test::random_weights(dtype, 18, 256, 3),
                              test::random_activations(tokens, 256, 4)});
        }
        check_everywhere(
            {dtype, 16, 256, 101, test::random_weights(dtype, 16, 256, 3), test::random_activations(101, 256, 4)});
    }
}

TEST_CASE("a product of arbitrary bytes has the oracle's bits, NaNs where it has NaNs", "[kernels][short]") {
    for (const DType dtype : test::multipliable_dtypes()) {
        check_everywhere(
            {dtype, 35, 512, 14, test::arbitrary_weights(dtype, 35, 512, 9), test::random_activations(14, 512, 10)});
    }
}

TEST_CASE("a matrix with an order of columns has the oracle's bits of activations in that order, in every back-end",
          "[kernels][short]") {
    for (const DType dtype : {DType::int4_32, DType::int4_64, DType::int4_128, DType::q4_0}) {
        for (const std::int64_t columns : {std::int64_t{128}, std::int64_t{4224}}) {  // of these 7 tokens at a time
            constexpr std::int64_t kRows = 35, kTokens = 37;
            const Product p{dtype,
                            kRows,
                            columns,
                            kTokens,
                            test::random_weights(dtype, kRows, columns, 7),
                            test::random_activations(kTokens, columns, 8)};
            std::vector<std::int32_t> order;
            for (std::int64_t k = 0; k < columns; ++k)
                order.push_back(static_cast<std::int32_t>((k * 29 + 11) % columns));
            Product sorted = p;
            for (std::int64_t t = 0; t < kTokens; ++t) {
                for (std::int64_t k = 0; k < columns; ++k)
                    sorted.x[static_cast<std::size_t>(t * columns + k)] =
                        p.x[static_cast<std::size_t>(t * columns + order[static_cast<std::size_t>(k)])];
            }
            const std::vector<float> expected = oracle(sorted);
            const std::vector<std::byte> panels = packed(p);
            const PackedMatrix matrix{
                .dtype = dtype, .rows = kRows, .columns = columns, .data = panels.data(), .order = order.data()};
            CHECK(!reads_blocks(matrix));
            SerialFor alone;
            for (const Backend& backend : backends()) {
                if (!backend.is_supported) continue;
                std::vector<float> y(expected.size(), -77.0F);
                const MatmulInput input{.values = p.x.data(), .values_stride = columns, .token_count = kTokens};
                matmul(*backend.table, alone, matrix, input, y.data(), kRows);
                INFO(dtype_name(dtype) << " " << backend.name);
                CHECK(test::first_difference(y, expected) == expected.size());
            }
            // Looked up, a row has its columns where their activations are.
            std::vector<float> row(static_cast<std::size_t>(columns)), as_held = row;
            unpack_row(matrix, 17, row.data());
            PackedMatrix in_order = matrix;
            in_order.order = nullptr;
            unpack_row(in_order, 17, as_held.data());
            for (std::size_t k = 0; k < row.size(); ++k) CHECK(row[static_cast<std::size_t>(order[k])] == as_held[k]);
        }
    }
}

TEST_CASE("tokens that are not finite give NaN and leave their neighbours alone", "[kernels][short]") {
    for (const DType dtype : test::multipliable_dtypes()) {
        Product p{dtype, 20, 256, 13, test::random_weights(dtype, 20, 256, 5), test::random_activations(13, 256, 6)};
        p.x[3 * 256 + 40] = std::numeric_limits<float>::quiet_NaN();
        p.x[7 * 256 + 255] = std::numeric_limits<float>::infinity();
        check_everywhere(p);
    }
}

TEST_CASE("odd widths of plain matrices have the oracle's bits", "[kernels][short]") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3}) {
        for (const std::int64_t columns : {1, 2, 3, 7, 31, 33, 257}) {
            check_everywhere({dtype, 37, columns, 5, test::random_weights(dtype, 37, columns, 7),
                              test::random_activations(5, columns, 8)});
        }
    }
}

TEST_CASE("the number of threads and the host's floating-point mode do not show in a product", "[kernels][short]") {
    for (const DType dtype : {DType::q4_k, DType::q6_k, DType::q8_0, DType::bf16, DType::iq2_xs}) {
        const Product p{
            dtype, 300, 1024, 3, test::random_weights(dtype, 300, 1024, 11), test::random_activations(3, 1024, 12)};
        const std::vector<float> expected = oracle(p);
        const std::vector<std::byte> panels = packed(p);
        for (const test::FpMode mode : test::kFpModes) {
            for (const int count : {1, 2, 3, 5}) {
                for (const Backend& backend : backends()) {
                    if (!backend.is_supported) continue;
                    std::vector<float> y;
                    {
                        const test::HostFpMode host(mode);
                        auto pool = ThreadPool::create(count);
                        y = multiply(p, panels, *backend.table, **pool, 3);
                    }
                    REQUIRE(test::first_difference(y, expected) == expected.size());
                }
            }
        }
    }
}

TEST_CASE("a product is near the exact one, within what int8 activations allow", "[kernels][short]") {
    for (const DType dtype : test::multipliable_dtypes()) {
        if (panel_kind(dtype) == PanelKind::file_rows && dtype_info(dtype).block_elements == 1)
            continue;  // f8: NaN codes
        const std::int64_t columns = 1024;
        const Product p{dtype,
                        40,
                        columns,
                        1,
                        test::random_weights(dtype, 40, columns, 21),
                        test::random_activations(1, columns, 22)};
        std::vector<float> decoded(static_cast<std::size_t>(p.rows * columns));
        decoder(dtype)(p.weights.data(), decoded.data(),
                       decoded.size() / static_cast<std::size_t>(dtype_info(dtype).block_elements));
        const std::vector<float> y = oracle(p);
        double error = 0, size = 0;
        for (std::int64_t n = 0; n < p.rows; ++n) {
            double exact = 0;
            for (std::int64_t k = 0; k < columns; ++k) {
                exact += static_cast<double>(decoded[static_cast<std::size_t>(n * columns + k)]) *
                         static_cast<double>(p.x[static_cast<std::size_t>(k)]);
            }
            error += std::pow(exact - static_cast<double>(y[static_cast<std::size_t>(n)]), 2);
            size += exact * exact;
        }
        INFO(dtype_name(dtype));
        CHECK(std::sqrt(error / size) < (reads_blocks(dtype) ? 1e-2 : 1e-5));
    }
}

TEST_CASE("a unit read as integers has the decoder's values", "[kernels][short]") {
    for (const DTypeInfo& info : all_dtypes()) {
        const IntegerFormat* format = integer_format(info.dtype);
        if (format == nullptr) continue;
        const std::vector<std::byte> bytes = test::random_weights(info.dtype, 1, 4096, 31);
        std::vector<float> decoded(4096), ours(4096);
        decoder(info.dtype)(bytes.data(), decoded.data(), static_cast<std::size_t>(4096 / info.block_elements));
        for (std::int64_t u = 0; u < 4096 / format->unit_columns; ++u) {
            IntegerUnit unit;
            read_unit(*format, bytes.data() + u * info.block_bytes, unit);
            for (std::int64_t k = 0; k < format->unit_columns; ++k) {
                const auto group = static_cast<std::size_t>(k / format->group_columns);
                const float scale = group_scale(*format, unit.d, unit.scales[group]);
                const float minimum =
                    format->has_minimum ? group_minimum(*format, unit.dmin, unit.minimums[group]) : 0.0F;
                ours[static_cast<std::size_t>(u * format->unit_columns + k)] =
                    scale * static_cast<float>(integer_value(*format, unit.codes[k], unit.zero)) - minimum;
            }
        }
        INFO(info.name);
        CHECK(test::first_difference(ours, decoded) == 4096);
    }
}

TEST_CASE("the packed size is refused where there is none", "[kernels][short]") {
    CHECK(packed_bytes(DType::q4_k, 16, 256) == 2368U);
    CHECK(packed_bytes(DType::q8_0, 17, 64) == 2U * 2 * 544);
    CHECK(packed_bytes(DType::q6_k, 0, 256) == 0U);
    CHECK_FALSE(packed_bytes(DType::q4_k, 16, 128));
    CHECK_FALSE(packed_bytes(DType::i32, 16, 256));
    CHECK_FALSE(packed_bytes(DType::unknown, 16, 256));
    CHECK_FALSE(packed_bytes(DType::f32, -1, 256));
    CHECK_FALSE(packed_bytes(DType::f32, std::int64_t{1} << 40, std::int64_t{1} << 40));
    CHECK_FALSE(packed_bytes(DType::f32, std::int64_t{1} << 62, 0));
}

TEST_CASE("the packed layout keeps its version", "[kernels][short]") {
    // A change of these bytes needs a new kLayoutVersion, or old pack caches are read wrong.
    std::uint64_t of_files = 0xCBF2'9CE4'8422'2325U, of_ours = of_files;  // FNV-1a
    for (const DType dtype : test::multipliable_dtypes()) {
        std::uint64_t& hash = dtype <= DType::nvfp4 ? of_files : of_ours;
        const Product p{dtype, 20, 256, 0, test::arbitrary_weights(dtype, 20, 256, 77), {}};
        for (const std::byte byte : packed(p)) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100'0000'01B3U;
    }
    CHECK(kLayoutVersion == 1);
    CHECK(of_files == 0xF92C'18B0'5D2D'AE91U);
    CHECK(of_ours == 0x3C0A'1B64'CCC4'ECFBU);
}
