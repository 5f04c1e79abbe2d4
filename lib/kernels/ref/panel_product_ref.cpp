// Products of packed panels, one scalar step at a time: what the vector tiles must equal.  README.md has the formulas.
#include <cmath>

#include "kernels/layout.hpp"
#include "kernels/quant/half.hpp"
#include "kernels/quant/little_endian.hpp"
#include "kernels/ref/ref.hpp"

namespace mixtura::ref {
namespace {

// The weights of 32 columns of 16 rows as the formula wants them.
struct PanelBlock {
    int q[kBlockColumns][kPanelRows];
    float scale[2][kPanelRows];
    float minimum[2][kPanelRows];
};

void read_panel_block(const IntegerFormat& format, const IntegerPanel& panel, const std::byte* panels,
                      std::int64_t block_index, PanelBlock& block) noexcept {
    const std::int64_t blocks_per_unit = format.unit_columns / kBlockColumns;
    const std::byte* unit = panels + block_index / blocks_per_unit * panel.unit_bytes;
    const std::byte* at = unit + panel.header_bytes + block_index % blocks_per_unit * panel.block_bytes;
    PanelCodes codes;
    unpack_codes(format.code_bits, at + panel.group_code_bytes, codes);
    const bool two_groups = format.group_columns == 16;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
        const auto zero = format.has_zero_points
                              ? std::to_integer<std::uint8_t>(unit[panel.zero_bytes + static_cast<std::int64_t>(r)])
                              : std::uint8_t{0};
        for (std::size_t k = 0; k < kBlockColumns; ++k)
            block.q[k][r] = integer_value(format, codes[k / 4][4 * r + k % 4], zero);
        const std::uint16_t d =
            format.has_exponent_scale ? std::to_integer<std::uint16_t>(unit[r]) : load_field<Le16>(unit, r).value();
        const std::uint16_t dmin =
            format.has_minimum ? load_field<Le16>(unit + panel.minimum_bytes, r).value() : std::uint16_t{0};
        for (std::size_t j = 0; j < (two_groups ? 2U : 1U); ++j) {
            const auto code = format.has_group_codes ? std::to_integer<unsigned>(at[kPanelRows * j + r]) : 0U;
            const bool shared = two_groups && format.has_minimum;  // q2_k: both codes in one byte
            const int scale_code = shared ? static_cast<int>(code & 0xFU) : static_cast<std::int8_t>(code);
            block.scale[j][r] = group_scale(format, d, scale_code);
            if (!format.has_minimum) continue;
            const unsigned minimum_code = shared                   ? code >> 4
                                          : format.has_group_codes ? std::to_integer<unsigned>(at[kPanelRows + r])
                                                                   : 0U;
            block.minimum[j][r] = group_minimum(format, dmin, static_cast<int>(minimum_code));
        }
    }
}

int dot(const PanelBlock& block, std::size_t row, const std::int8_t* q, std::size_t first, std::size_t last) noexcept {
    int sum = 0;
    for (std::size_t k = first; k < last; ++k) sum += block.q[k][row] * q[k];
    return sum;
}

}  // namespace

float add_group(const IntegerFormat& format, std::int32_t sum, float scale, float minimum, float d, float scaled_sum,
                float y) noexcept {
    const float term = format.has_exponent_scale
                           ? static_cast<float>(sum) * scale
                           : std::fma(kSumBase + static_cast<float>(sum), scale, -(kSumBase * scale));
    y = std::fma(term, d, y);
    return format.has_minimum ? std::fma(-minimum, scaled_sum, y) : y;
}

template <DType kDType>
void product_integer(const PanelProduct& product) noexcept {
    const IntegerFormat& format = *integer_format(kDType);
    const IntegerPanel panel = integer_panel(format);
    const bool two_groups = format.group_columns == 16;
    for (std::int64_t p = 0; p < product.panel_count; ++p) {
        const std::byte* panels = product.panels + p * product.panel_bytes;
        for (std::int64_t t = 0; t < product.token_count; ++t) {
            for (std::int64_t r = 0; r < kPanelRows; ++r) product.y[t][p * kPanelRows + r] = 0.0F;
        }
        for (std::int64_t b = 0; b < product.columns / kBlockColumns; ++b) {
            PanelBlock block;
            read_panel_block(format, panel, panels, b, block);
            for (std::int64_t t = 0; t < product.token_count; ++t) {
                const ActivationBlock& x = static_cast<const ActivationBlock*>(product.x[t])[b];
                float* y = product.y[t] + p * kPanelRows;
                for (std::size_t r = 0; r < kPanelRows; ++r) {
                    if (!two_groups) {
                        y[r] = add_group(format, dot(block, r, x.q, 0, 32), block.scale[0][r], block.minimum[0][r], x.d,
                                         x.scaled_sum, y[r]);
                        continue;
                    }
                    y[r] = add_group(format, dot(block, r, x.q, 0, 16), block.scale[0][r], block.minimum[0][r], x.d,
                                     x.scaled_sum_low, y[r]);
                    y[r] = add_group(format, dot(block, r, x.q, 16, 32), block.scale[1][r], block.minimum[1][r], x.d,
                                     x.scaled_sum_high, y[r]);
                }
            }
        }
    }
}

template <DType kDType>
void product_plain(const PanelProduct& product) noexcept {
    for (std::int64_t p = 0; p < product.panel_count; ++p) {
        const std::byte* weights = product.panels + p * product.panel_bytes;
        for (std::int64_t t = 0; t < product.token_count; ++t) {
            const float* x = static_cast<const float*>(product.x[t]);
            float* y = product.y[t] + p * kPanelRows;
            for (std::int64_t r = 0; r < kPanelRows && !product.accumulate; ++r) y[r] = 0.0F;
            for (std::int64_t k = 0; k < product.columns; ++k) {
                for (std::int64_t r = 0; r < kPanelRows; ++r) {
                    const auto at = static_cast<std::size_t>(k * kPanelRows + r);
                    y[r] = std::fma(x[k], load_plain(kDType, weights, at), y[r]);
                }
            }
        }
    }
}

template <DType kDType>
void product_scaled(const PanelProduct& product) noexcept {
    const ScaledFormat& format = *scaled_format(kDType);
    for (std::int64_t p = 0; p < product.panel_count; ++p) {
        for (std::int64_t t = 0; t < product.token_count; ++t) {
            const std::byte* unit = product.panels + p * product.panel_bytes;
            const float* x = static_cast<const float*>(product.x[t]);
            float* y = product.y[t] + p * kPanelRows;
            for (std::int64_t r = 0; r < kPanelRows && !product.accumulate; ++r) y[r] = 0.0F;
            for (std::int64_t k = 0; k < product.columns; ++k) {
                const std::int64_t in_unit = k % format.unit_columns;
                if (k > 0 && in_unit == 0) unit += scaled_unit_bytes(format);
                for (std::size_t r = 0; r < kPanelRows; ++r) {
                    const float weight =
                        scaled_value(format, unit + kScaledHeaderBytes, in_unit, r) * load_f32(unit, r);
                    y[r] = std::fma(x[k], weight, y[r]);
                }
            }
        }
    }
}

void fill_products(KernelTable& table) noexcept {
    const auto set = [&table](DType dtype, PanelProductFunction function) {
        table.product[product_index(dtype)] = function;
    };
    set(DType::f32, product_plain<DType::f32>);
    set(DType::f16, product_plain<DType::f16>);
    set(DType::bf16, product_plain<DType::bf16>);
    set(DType::q4_0, product_integer<DType::q4_0>);
    set(DType::q4_1, product_integer<DType::q4_1>);
    set(DType::q5_0, product_integer<DType::q5_0>);
    set(DType::q5_1, product_integer<DType::q5_1>);
    set(DType::q8_0, product_integer<DType::q8_0>);
    set(DType::q2_k, product_integer<DType::q2_k>);
    set(DType::q3_k, product_integer<DType::q3_k>);
    set(DType::q4_k, product_integer<DType::q4_k>);
    set(DType::q5_k, product_integer<DType::q5_k>);
    set(DType::q6_k, product_integer<DType::q6_k>);
    set(DType::iq4_nl, product_integer<DType::iq4_nl>);
    set(DType::iq4_xs, product_integer<DType::iq4_xs>);
    set(DType::mxfp4, product_integer<DType::mxfp4>);
    set(DType::f8_e4m3_32, product_scaled<DType::f8_e4m3_32>);
    set(DType::f8_e4m3_128, product_scaled<DType::f8_e4m3_128>);
    set(DType::int4_32, product_integer<DType::int4_32>);
    set(DType::int4_64, product_integer<DType::int4_64>);
    set(DType::int4_128, product_integer<DType::int4_128>);
    set(DType::nf4, product_scaled<DType::nf4>);
}

}  // namespace mixtura::ref
