#include "kernels/unpack.hpp"

#include <catch2/catch.hpp>

#include "kernels/quant/decode.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

void check_rows(DType dtype, std::int64_t rows, std::int64_t columns, const std::vector<std::byte>& file_rows) {
    std::vector<std::byte> panels(static_cast<std::size_t>(packed_bytes(dtype, rows, columns).value()));
    pack_rows(dtype, file_rows.data(), rows, columns, panels.data());
    const auto count = static_cast<std::size_t>(columns);
    const std::size_t blocks = count / static_cast<std::size_t>(dtype_info(dtype).block_elements);
    const std::size_t row_bytes = file_rows.size() / static_cast<std::size_t>(rows);
    std::vector<float> decoded(count), unpacked(count);
    for (std::int64_t row = 0; row < rows; ++row) {
        decoder(dtype)(file_rows.data() + static_cast<std::size_t>(row) * row_bytes, decoded.data(), blocks);
        unpack_row({dtype, rows, columns, panels.data()}, row, unpacked.data());
        INFO(dtype_name(dtype) << " [" << rows << ", " << columns << "] row " << row);
        REQUIRE(test::first_difference(unpacked, decoded) == count);
    }
}

}  // namespace

TEST_CASE("a row out of the panels has the bits of the file's row decoded, in every format", "[kernels][short]") {
    for (const DType dtype : test::multipliable_dtypes()) {
        for (const std::int64_t rows : {1, 16, 35}) {
            for (const std::int64_t columns : {256, 1024}) {
                const auto seed = static_cast<std::uint64_t>(rows + columns);
                check_rows(dtype, rows, columns, test::random_weights(dtype, rows, columns, seed));
                check_rows(dtype, rows, columns, test::arbitrary_weights(dtype, rows, columns, seed));
            }
        }
    }
}

TEST_CASE("a row out of the panels of a plain matrix may have any width", "[kernels][short]") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e5m2}) {
        for (const std::int64_t columns : {1, 7, 33})
            check_rows(dtype, 19, columns, test::arbitrary_weights(dtype, 19, columns, 5));
    }
}
