#include "kernels/unpack.hpp"

#include <cstring>

#include "kernels/quant/decode.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura {
namespace {

// The codes of 32 columns of one row: word i is the row's four columns of operand i, a byte each.
using RowCodes = std::uint32_t[8];

constexpr std::uint32_t in_every_byte(unsigned byte) noexcept { return 0x0101'0101U * byte; }

std::uint32_t row_word(const std::byte* operands, unsigned vector, std::int64_t row) noexcept {
    std::uint32_t word;
    std::memcpy(&word, operands + kOperandBytes * vector + 4 * row, sizeof word);
    return word;
}

// kWidth bits of every operand, 8 / kWidth operands sharing a byte, lowest first.
template <unsigned kWidth>
void add_bits(const std::byte* packed, std::int64_t row, unsigned to_bit, RowCodes& codes) noexcept {
    constexpr unsigned kPerByte = 8 / kWidth, kMask = (1U << kWidth) - 1U;
    for (unsigned i = 0; i < 8; ++i) {
        const std::uint32_t word = row_word(packed, i / kPerByte, row);
        codes[i] |= (word >> kWidth * (i % kPerByte) & in_every_byte(kMask)) << to_bit;
    }
}

void add_nibbles(const std::byte* packed, std::int64_t row, RowCodes& codes) noexcept {
    for (unsigned i = 0; i < 8; ++i) codes[i] |= row_word(packed, i % 4, row) >> 4 * (i / 4) & in_every_byte(0xF);
}

// unpack_codes of one row.
void unpack_row_codes(int bits, const std::byte* packed, std::int64_t row, std::uint8_t* out) noexcept {
    RowCodes codes = {};
    switch (bits) {
        case 2: add_bits<2>(packed, row, 0, codes); break;
        case 3:
            add_bits<2>(packed, row, 0, codes);
            add_bits<1>(packed + 2 * kOperandBytes, row, 2, codes);
            break;
        case 5:
            add_nibbles(packed, row, codes);
            add_bits<1>(packed + 4 * kOperandBytes, row, 4, codes);
            break;
        case 6:
            add_nibbles(packed, row, codes);
            add_bits<2>(packed + 4 * kOperandBytes, row, 4, codes);
            break;
        case 8: add_bits<8>(packed, row, 0, codes); break;
        default: add_nibbles(packed, row, codes); break;
    }
    std::memcpy(out, codes, sizeof codes);
}

// What read_unit says of the block that was packed at `packed` as row `row` of its panel.
void unpack_unit(const IntegerFormat& format, const IntegerPanel& panel, const std::byte* packed, std::int64_t row,
                 IntegerUnit& unit) noexcept {
    const auto r = static_cast<std::size_t>(row);
    unit.d =
        format.has_exponent_scale ? std::to_integer<std::uint16_t>(packed[r]) : load_field<Le16>(packed, r).value();
    unit.dmin = format.has_minimum ? load_field<Le16>(packed + panel.minimum_bytes, r).value() : std::uint16_t{0};
    unit.zero =
        format.has_zero_points ? std::to_integer<std::uint8_t>(packed[panel.zero_bytes + row]) : std::uint8_t{0};
    const auto groups_per_block = static_cast<std::size_t>(kBlockColumns / format.group_columns);
    const bool shared = format.has_minimum && groups_per_block == 2;  // q2_k: both codes in one byte
    for (std::size_t block = 0; block < static_cast<std::size_t>(format.unit_columns / kBlockColumns); ++block) {
        const std::byte* at = packed + panel.header_bytes + static_cast<std::int64_t>(block) * panel.block_bytes;
        for (std::size_t j = 0; j < groups_per_block; ++j) {
            const auto code =
                format.has_group_codes ? std::to_integer<std::uint8_t>(at[kPanelRows * j + r]) : std::uint8_t{0};
            const std::size_t group = groups_per_block * block + j;
            unit.scales[group] = static_cast<std::int8_t>(shared ? code & 0xF : code);
            unit.minimums[group] = shared ? static_cast<std::uint8_t>(code >> 4)
                                   : format.has_group_codes && format.has_minimum
                                       ? std::to_integer<std::uint8_t>(at[kPanelRows + r])
                                       : std::uint8_t{0};
        }
        unpack_row_codes(format.code_bits, at + panel.group_code_bytes, row, unit.codes + kBlockColumns * block);
    }
}

void unpack_integer(const IntegerFormat& format, const PackedMatrix& matrix, std::int64_t row, float* out) noexcept {
    const IntegerPanel panel = integer_panel(format);
    const std::byte* packed = panel_data(matrix, panel_bytes(matrix.dtype, matrix.columns), row / kPanelRows);
    IntegerUnit unit;
    for (std::int64_t u = 0; u < matrix.columns / format.unit_columns; ++u, packed += panel.unit_bytes) {
        unpack_unit(format, panel, packed, row % kPanelRows, unit);
        for (std::int64_t first = 0; first < format.unit_columns; first += format.group_columns) {
            const auto group = static_cast<std::size_t>(first / format.group_columns);
            const float scale = group_scale(format, unit.d, unit.scales[group]);
            const float minimum = group_minimum(format, unit.dmin, unit.minimums[group]);
            for (std::int64_t k = first; k < first + format.group_columns; ++k) {
                const float value = scale * static_cast<float>(integer_value(format, unit.codes[k], unit.zero));
                const std::int64_t column = u * format.unit_columns + k;
                out[matrix.order != nullptr ? matrix.order[column] : column] =
                    format.has_minimum ? value - minimum : value;
            }
        }
    }
}

// One element of the row at a time, `bytes` each.
void unpack_plain(const PackedMatrix& matrix, std::int64_t row, float* out) noexcept {
    const DecodeBlocks decode = decoder(matrix.dtype);
    const std::int64_t bytes = dtype_info(matrix.dtype).block_bytes;
    const std::byte* element =
        panel_data(matrix, panel_bytes(matrix.dtype, matrix.columns), row / kPanelRows) + row % kPanelRows * bytes;
    for (std::int64_t k = 0; k < matrix.columns; ++k) decode(element + k * kPanelRows * bytes, out + k, 1);
}

void unpack_scaled(const ScaledFormat& format, const PackedMatrix& matrix, std::int64_t row, float* out) noexcept {
    const auto r = static_cast<std::size_t>(row % kPanelRows);
    const std::byte* unit = panel_data(matrix, panel_bytes(matrix.dtype, matrix.columns), row / kPanelRows);
    for (std::int64_t u = 0; u < matrix.columns / format.unit_columns; ++u, unit += scaled_unit_bytes(format)) {
        const float scale = load_f32(unit, r);
        for (std::int64_t k = 0; k < format.unit_columns; ++k)
            *out++ = scaled_value(format, unit + kScaledHeaderBytes, k, r) * scale;
    }
}

}  // namespace

void unpack_row(const PackedMatrix& matrix, std::int64_t row, float* out) noexcept {
    const DTypeInfo& info = dtype_info(matrix.dtype);
    switch (panel_kind(matrix.dtype)) {
        case PanelKind::integer: return unpack_integer(*integer_format(matrix.dtype), matrix, row, out);
        case PanelKind::plain: return unpack_plain(matrix, row, out);
        case PanelKind::scaled: return unpack_scaled(*scaled_format(matrix.dtype), matrix, row, out);
        case PanelKind::file_rows: {
            const std::int64_t blocks = matrix.columns / info.block_elements, bytes = blocks * info.block_bytes;
            const std::byte* panel = panel_data(matrix, kPanelRows * bytes, row / kPanelRows);
            decoder(matrix.dtype)(panel + row % kPanelRows * bytes, out, static_cast<std::size_t>(blocks));
        }
    }
}

}  // namespace mixtura
