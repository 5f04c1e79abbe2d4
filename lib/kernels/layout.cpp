#include "kernels/layout.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura {
namespace {

std::int64_t row_bytes(DType dtype, std::int64_t columns) noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    return columns / info.block_elements * info.block_bytes;
}

void store_byte(std::byte* at, unsigned value) noexcept { *at = static_cast<std::byte>(value); }

void or_byte(std::byte* at, unsigned bits) noexcept { *at |= static_cast<std::byte>(bits); }

// A quantity of `width` bits of every operand, `per_byte` operands sharing a byte.
void pack_bits(const PanelCodes& codes, unsigned from_bit, unsigned width, std::byte* packed) noexcept {
    const std::size_t per_byte = 8 / width;
    const unsigned mask = (1U << width) - 1U;
    std::memset(packed, 0, static_cast<std::size_t>(kOperandBytes) * width);
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t p = 0; p < kOperandBytes; ++p) {
            or_byte(packed + kOperandBytes * (i / per_byte) + p, (codes[i][p] >> from_bit & mask)
                                                                     << width * (i % per_byte));
        }
    }
}

void unpack_bits(const std::byte* packed, unsigned from_bit, unsigned width, PanelCodes& codes) noexcept {
    const std::size_t per_byte = 8 / width;
    const unsigned mask = (1U << width) - 1U;
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t p = 0; p < kOperandBytes; ++p) {
            const auto byte = std::to_integer<unsigned>(packed[kOperandBytes * (i / per_byte) + p]);
            codes[i][p] = static_cast<std::uint8_t>(codes[i][p] | (byte >> width * (i % per_byte) & mask) << from_bit);
        }
    }
}

// Sixteen units of one panel (nullptr: a row beyond the last) into their place.
void pack_unit(const IntegerFormat& format, const IntegerPanel& panel, const IntegerUnit (&units)[kPanelRows],
               std::byte* out) noexcept {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
        if (format.has_exponent_scale) {
            store_byte(out + r, units[r].d);
        } else {
            store_field(out, r, Le16::from(units[r].d));
        }
        if (format.has_minimum) store_field(out + panel.minimum_bytes, r, Le16::from(units[r].dmin));
    }
    const auto groups_per_block = static_cast<std::size_t>(kBlockColumns / format.group_columns);
    for (std::size_t block = 0; block < static_cast<std::size_t>(format.unit_columns / kBlockColumns); ++block) {
        std::byte* at = out + panel.header_bytes + static_cast<std::int64_t>(block) * panel.block_bytes;
        PanelCodes codes;
        for (std::size_t r = 0; r < kPanelRows; ++r) {
            for (std::size_t k = 0; k < kBlockColumns; ++k)
                codes[k / 4][4 * r + k % 4] = units[r].codes[kBlockColumns * block + k];
            for (std::size_t j = 0; format.has_group_codes && j < groups_per_block; ++j) {
                const std::size_t group = groups_per_block * block + j;
                const auto scale = static_cast<std::uint8_t>(units[r].scales[group]);
                const unsigned minimum = units[r].minimums[group];
                const bool shared = format.has_minimum && groups_per_block == 2;  // q2_k
                store_byte(at + kPanelRows * j + r, shared ? scale | minimum << 4 : scale);
                if (format.has_minimum && !shared) store_byte(at + kPanelRows + r, minimum);
            }
        }
        pack_codes(format.code_bits, codes, at + panel.group_code_bytes);
    }
}

void pack_integer(const IntegerFormat& format, const std::byte* rows, std::int64_t row_count, std::int64_t columns,
                  std::byte* out) noexcept {
    const IntegerPanel panel = integer_panel(format);
    const std::int64_t stride = row_bytes(format.dtype, columns), block_bytes = dtype_info(format.dtype).block_bytes;
    for (std::int64_t first = 0; first < row_count; first += kPanelRows) {
        for (std::int64_t u = 0; u < columns / format.unit_columns; ++u) {
            IntegerUnit units[kPanelRows] = {};
            for (std::int64_t r = 0; r < kPanelRows && first + r < row_count; ++r) {
                read_unit(format, rows + (first + r) * stride + u * block_bytes, units[r]);
            }
            pack_unit(format, panel, units, out);
            out += panel.unit_bytes;
        }
    }
}

void pack_plain(std::int64_t element_bytes, const std::byte* rows, std::int64_t row_count, std::int64_t columns,
                std::byte* out) noexcept {
    const auto bytes = static_cast<std::size_t>(element_bytes);
    for (std::int64_t first = 0; first < row_count; first += kPanelRows) {
        for (std::int64_t r = 0; r < kPanelRows; ++r) {
            const std::byte* row = rows + (first + r) * columns * element_bytes;
            for (std::int64_t k = 0; k < columns; ++k) {
                std::byte* at = out + (k * kPanelRows + r) * element_bytes;
                if (first + r < row_count) {
                    std::memcpy(at, row + k * element_bytes, bytes);
                } else {
                    std::memset(at, 0, bytes);
                }
            }
        }
        out += kPanelRows * columns * element_bytes;
    }
}

}  // namespace

PanelKind panel_kind(DType dtype) noexcept {
    if (integer_format(dtype) != nullptr) return PanelKind::integer;
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return PanelKind::plain;
    return PanelKind::file_rows;
}

std::int64_t panel_bytes(DType dtype, std::int64_t columns) noexcept {
    const IntegerFormat* format = integer_format(dtype);
    if (format != nullptr) return columns / format->unit_columns * integer_panel(*format).unit_bytes;
    return kPanelRows * row_bytes(dtype, columns);
}

std::optional<std::uint64_t> packed_bytes(DType dtype, std::int64_t rows, std::int64_t columns) noexcept {
    if (decoder(dtype) == nullptr || rows < 0 || columns < 0) return std::nullopt;
    if (columns % dtype_info(dtype).block_elements != 0) return std::nullopt;
    const auto unsigned_rows = static_cast<std::uint64_t>(rows), unsigned_columns = static_cast<std::uint64_t>(columns);
    // The widest panel is f64's, 128 bytes a column: with the product below 2^48 nothing that follows overflows.
    const auto elements = checked_multiply(unsigned_rows, unsigned_columns);
    constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 48;
    if (!elements || *elements > kElementsMax || unsigned_columns > kElementsMax || unsigned_rows > kElementsMax)
        return std::nullopt;
    if (panel_kind(dtype) == PanelKind::file_rows)
        return unsigned_rows * static_cast<std::uint64_t>(row_bytes(dtype, columns));
    return checked_multiply(static_cast<std::uint64_t>(panel_count(rows)),
                            static_cast<std::uint64_t>(panel_bytes(dtype, columns)));
}

void pack_rows(DType dtype, const std::byte* file_rows, std::int64_t rows, std::int64_t columns,
               std::byte* packed) noexcept {
    if (rows <= 0 || columns <= 0) return;
    switch (panel_kind(dtype)) {
        case PanelKind::integer: return pack_integer(*integer_format(dtype), file_rows, rows, columns, packed);
        case PanelKind::plain: return pack_plain(dtype_info(dtype).block_bytes, file_rows, rows, columns, packed);
        case PanelKind::file_rows:
            std::memcpy(packed, file_rows, static_cast<std::size_t>(rows * row_bytes(dtype, columns)));
    }
}

void pack_codes(int bits, const PanelCodes& codes, std::byte* packed) noexcept {
    switch (bits) {
        case 2: return pack_bits(codes, 0, 2, packed);
        case 3: pack_bits(codes, 0, 2, packed); return pack_bits(codes, 2, 1, packed + 2 * kOperandBytes);
        case 8: return pack_bits(codes, 0, 8, packed);
        default: break;
    }
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t p = 0; p < kOperandBytes; ++p) {
            store_byte(packed + kOperandBytes * i + p, (codes[i][p] & 0xFU) | (codes[4 + i][p] & 0xFU) << 4);
        }
    }
    if (bits == 5) pack_bits(codes, 4, 1, packed + 4 * kOperandBytes);
    if (bits == 6) pack_bits(codes, 4, 2, packed + 4 * kOperandBytes);
}

void unpack_codes(int bits, const std::byte* packed, PanelCodes& codes) noexcept {
    std::memset(codes, 0, sizeof codes);
    switch (bits) {
        case 2: return unpack_bits(packed, 0, 2, codes);
        case 3: unpack_bits(packed, 0, 2, codes); return unpack_bits(packed + 2 * kOperandBytes, 2, 1, codes);
        case 8: return unpack_bits(packed, 0, 8, codes);
        default: break;
    }
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t p = 0; p < kOperandBytes; ++p) {
            const auto byte = std::to_integer<unsigned>(packed[kOperandBytes * i + p]);
            codes[i][p] = byte & 0xFU;
            codes[4 + i][p] = static_cast<std::uint8_t>(byte >> 4);
        }
    }
    if (bits == 5) unpack_bits(packed + 4 * kOperandBytes, 4, 1, codes);
    if (bits == 6) unpack_bits(packed + 4 * kOperandBytes, 4, 2, codes);
}

}  // namespace mixtura
