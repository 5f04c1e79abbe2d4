// The matrix product straight from a file's rows: the oracle.  README.md has the formulas.
#include <cmath>
#include <vector>

#include "kernels/integer_format.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/ref/ref.hpp"

namespace mixtura::ref {
namespace {

void quantise_rows(const float* x, std::int64_t count, std::vector<ActivationBlock>& blocks) {
    KernelTable table{};
    fill_rows(table);
    blocks.resize(static_cast<std::size_t>(count / kBlockColumns));
    table.quantise_row(x, count, blocks.data());
}

float integer_output(const IntegerFormat& format, const std::vector<IntegerUnit>& row,
                     const ActivationBlock* x) noexcept {
    const auto group = static_cast<std::size_t>(format.group_columns);
    const std::size_t groups = static_cast<std::size_t>(kBlockColumns) / group;
    float y = 0.0F;
    for (const IntegerUnit& unit : row) {
        for (std::size_t first = 0; first < static_cast<std::size_t>(format.unit_columns);
             first += kBlockColumns, ++x) {
            for (std::size_t j = 0; j < groups; ++j) {
                int sum = 0, activation_sum = 0;
                for (std::size_t k = j * group; k < (j + 1) * group; ++k) {
                    sum += integer_value(format, unit.codes[first + k], unit.zero) * x->q[k];
                    activation_sum += x->q[k];
                }
                const float scale = group_scale(format, unit.d, unit.scales[first / group + j]);
                const float minimum = group_minimum(format, unit.dmin, unit.minimums[first / group + j]);
                y = add_group(format, sum, scale, minimum, x->d, x->d * static_cast<float>(activation_sum), y);
            }
        }
    }
    return y;
}

}  // namespace

void matmul_file_rows(DType dtype, const std::byte* file_rows, std::int64_t rows, std::int64_t columns, const float* x,
                      std::int64_t token_count, float* y) {
    const DTypeInfo& info = dtype_info(dtype);
    const std::int64_t block_count = columns / info.block_elements;
    const IntegerFormat* format = integer_format(dtype);
    std::vector<ActivationBlock> quantised;
    if (format != nullptr) quantise_rows(x, token_count * columns, quantised);
    std::vector<IntegerUnit> units(static_cast<std::size_t>(block_count));
    std::vector<float> decoded(static_cast<std::size_t>(columns));
    for (std::int64_t n = 0; n < rows; ++n) {
        const std::byte* row = file_rows + n * block_count * info.block_bytes;
        if (format != nullptr) {
            for (std::int64_t b = 0; b < block_count; ++b)
                read_unit(*format, row + b * info.block_bytes, units[static_cast<std::size_t>(b)]);
        } else {
            decoder(dtype)(row, decoded.data(), static_cast<std::size_t>(block_count));
        }
        for (std::int64_t t = 0; t < token_count; ++t) {
            float& output = y[t * rows + n];
            if (format != nullptr) {
                output = integer_output(*format, units, quantised.data() + t * (columns / kBlockColumns));
                continue;
            }
            output = 0.0F;
            for (std::int64_t k = 0; k < columns; ++k)
                output = std::fma(x[t * columns + k], decoded[static_cast<std::size_t>(k)], output);
        }
    }
}

}  // namespace mixtura::ref
