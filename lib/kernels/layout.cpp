#include "kernels/layout.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "kernels/byte_bits.hpp"
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura {
namespace {

std::int64_t row_bytes(DType dtype, std::int64_t columns) noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    return columns / info.block_elements * info.block_bytes;
}

void store_byte(std::byte* at, unsigned value) noexcept { *at = static_cast<std::byte>(value); }

// A quantity of kWidth bits of every operand, 8 / kWidth operands sharing a byte, lowest first.
template <unsigned kWidth>
void pack_bits(const PanelCodes& codes, unsigned from_bit, std::byte* packed) noexcept {
    constexpr unsigned kPerByte = 8 / kWidth, kMask = (1U << kWidth) - 1U;
    for (unsigned i = 0; i < 8; ++i) {
        std::byte* at = packed + kOperandBytes * (i / kPerByte);
        if (i % kPerByte == 0) {
            detail::take_bits<kOperandBytes>(codes[i], from_bit, kMask, 0, at);
        } else {
            detail::add_bits<kOperandBytes>(codes[i], from_bit, kMask, kWidth * (i % kPerByte), at);
        }
    }
}

template <unsigned kWidth>
void unpack_bits(const std::byte* packed, unsigned to_bit, PanelCodes& codes) noexcept {
    constexpr unsigned kPerByte = 8 / kWidth, kMask = (1U << kWidth) - 1U;
    for (unsigned i = 0; i < 8; ++i) {
        detail::add_bits<kOperandBytes>(packed + kOperandBytes * (i / kPerByte), kWidth * (i % kPerByte), kMask, to_bit,
                                        codes[i]);
    }
}

// Operand i in the low halves of vector i, operand 4 + i in its high halves.
void pack_nibbles(const PanelCodes& codes, std::byte* packed) noexcept {
    for (unsigned i = 0; i < 4; ++i) {
        detail::take_bits<kOperandBytes>(codes[i], 0, 0xF, 0, packed + kOperandBytes * i);
        detail::add_bits<kOperandBytes>(codes[4 + i], 0, 0xF, 4, packed + kOperandBytes * i);
    }
}

void unpack_nibbles(const std::byte* packed, PanelCodes& codes) noexcept {
    for (unsigned i = 0; i < 8; ++i) {
        detail::add_bits<kOperandBytes>(packed + kOperandBytes * (i % 4), 4 * (i / 4), 0xF, 0, codes[i]);
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
        if (format.has_zero_points) store_byte(out + panel.zero_bytes + r, units[r].zero);
    }
    const auto groups_per_block = static_cast<std::size_t>(kBlockColumns / format.group_columns);
    for (std::size_t block = 0; block < static_cast<std::size_t>(format.unit_columns / kBlockColumns); ++block) {
        std::byte* at = out + panel.header_bytes + static_cast<std::int64_t>(block) * panel.block_bytes;
        PanelCodes codes;
        for (std::size_t r = 0; r < kPanelRows; ++r) {
            for (std::size_t i = 0; i < 8; ++i) {  // four columns a word
                std::memcpy(codes[i] + 4 * r, units[r].codes + kBlockColumns * block + 4 * i, 4);
            }
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
            IntegerUnit units[kPanelRows];
            for (std::int64_t r = 0; r < kPanelRows; ++r) {
                if (first + r < row_count) {
                    read_unit(format, rows + (first + r) * stride + u * block_bytes, units[r]);
                } else {
                    units[r] = {};
                }
            }
            pack_unit(format, panel, units, out);
            out += panel.unit_bytes;
        }
    }
}

// kBytes a element.
template <std::size_t kBytes>
void pack_plain(const std::byte* rows, std::int64_t row_count, std::int64_t columns, std::byte* out) noexcept {
    constexpr auto kStep = static_cast<std::int64_t>(kBytes);
    for (std::int64_t first = 0; first < row_count; first += kPanelRows) {
        const std::byte* panel_rows = rows + first * columns * kStep;
        const std::int64_t count = row_count - first < kPanelRows ? row_count - first : kPanelRows;
        for (std::int64_t k = 0; k < columns; ++k, out += kPanelRows * kStep) {
            for (std::int64_t r = 0; r < count; ++r)
                std::memcpy(out + r * kStep, panel_rows + (r * columns + k) * kStep, kBytes);
            if (count < kPanelRows)
                std::memset(out + count * kStep, 0, static_cast<std::size_t>(kPanelRows - count) * kBytes);
        }
    }
}

// One block of each of 16 rows (nullptr: a row beyond the last) as a unit of a panel.
template <std::size_t kCount>
void pack_e4m3_unit(const std::byte* const (&blocks)[kPanelRows], std::byte* out) noexcept {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
        BlockE4m3<kCount> block = {};
        if (blocks[r] != nullptr) block = load_field<BlockE4m3<kCount>>(blocks[r]);
        const float scale = e4m3_scale(f32_from_bits(block.scale.value()), block.codes, kCount);
        store_field(out, r, Le32::from(f32_bits(scale)));
        for (std::size_t k = 0; k < kCount; ++k)
            store_byte(out + kScaledHeaderBytes + k * kPanelRows + r, block.codes[k]);
    }
}

void pack_nf4_unit(const std::byte* const (&blocks)[kPanelRows], std::byte* out) noexcept {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
        BlockNf4 block = {};
        if (blocks[r] != nullptr) block = load_field<BlockNf4>(blocks[r]);
        store_field(out, r, block.scale);
        for (std::size_t i = 0; i < sizeof block.qs; ++i) {
            const unsigned swapped = static_cast<unsigned>(block.qs[i]) << 4 | static_cast<unsigned>(block.qs[i]) >> 4;
            store_byte(out + kScaledHeaderBytes + i * kPanelRows + r, swapped & 0xFFU);
        }
    }
}

void pack_scaled(const ScaledFormat& format, const std::byte* rows, std::int64_t row_count, std::int64_t columns,
                 std::byte* out) noexcept {
    const std::int64_t stride = row_bytes(format.dtype, columns), block_bytes = dtype_info(format.dtype).block_bytes;
    for (std::int64_t first = 0; first < row_count; first += kPanelRows) {
        for (std::int64_t u = 0; u < columns / format.unit_columns; ++u, out += scaled_unit_bytes(format)) {
            const std::byte* blocks[kPanelRows];
            for (std::int64_t r = 0; r < kPanelRows; ++r)
                blocks[r] = first + r < row_count ? rows + (first + r) * stride + u * block_bytes : nullptr;
            if (format.dtype == DType::nf4)
                pack_nf4_unit(blocks, out);
            else
                format.unit_columns == 32 ? pack_e4m3_unit<32>(blocks, out) : pack_e4m3_unit<128>(blocks, out);
        }
    }
}

}  // namespace

PanelKind panel_kind(DType dtype) noexcept {
    if (integer_format(dtype) != nullptr) return PanelKind::integer;
    if (scaled_format(dtype) != nullptr) return PanelKind::scaled;
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return PanelKind::plain;
    return PanelKind::file_rows;
}

PanelRun panel_run(std::span<const PanelPart> parts, std::int64_t panel_bytes, std::int64_t first_panel,
                   std::int64_t last_panel) noexcept {
    PanelRun run{last_panel, first_panel * panel_bytes};
    std::size_t part = parts.size();
    while (part > 0 && parts[part - 1].first_panel > first_panel) --part;
    if (part > 0) run.offset_bytes += parts[part - 1].jump_bytes;
    if (part < parts.size()) run.last_panel = std::min(last_panel, parts[part].first_panel);
    return run;
}

PanelShare panels_of_node(const PackedMatrix& matrix, std::size_t node, std::size_t node_count) noexcept {
    const std::int64_t panels = panel_count(matrix.rows);
    if (matrix.parts.size() != node_count) return node == 0 ? PanelShare{0, panels} : PanelShare{panels, panels};
    return {matrix.parts[node].first_panel, node + 1 < node_count ? matrix.parts[node + 1].first_panel : panels};
}

NodeEnds::NodeEnds(const PackedMatrix& matrix, std::int64_t strip_panels, std::int64_t tasks_per_strip) noexcept
    : count_(std::min(matrix.parts.size(), static_cast<std::size_t>(kNodesMax))) {
    for (std::size_t node = 0; node < count_; ++node) {
        const std::int64_t strips = panels_of_node(matrix, node, count_).end + strip_panels - 1;
        ends_[node] = strips / strip_panels * tasks_per_strip;
    }
}

std::int64_t panel_bytes(DType dtype, std::int64_t columns) noexcept {
    const IntegerFormat* format = integer_format(dtype);
    if (format != nullptr) return columns / format->unit_columns * integer_panel(*format).unit_bytes;
    if (const ScaledFormat* scaled = scaled_format(dtype))
        return columns / scaled->unit_columns * scaled_unit_bytes(*scaled);
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
        case PanelKind::plain:
            return dtype == DType::f32 ? pack_plain<4>(file_rows, rows, columns, packed)
                                       : pack_plain<2>(file_rows, rows, columns, packed);
        case PanelKind::scaled: return pack_scaled(*scaled_format(dtype), file_rows, rows, columns, packed);
        case PanelKind::file_rows:
            std::memcpy(packed, file_rows, static_cast<std::size_t>(rows * row_bytes(dtype, columns)));
    }
}

void pack_codes(int bits, const PanelCodes& codes, std::byte* packed) noexcept {
    switch (bits) {
        case 2: return pack_bits<2>(codes, 0, packed);
        case 3: pack_bits<2>(codes, 0, packed); return pack_bits<1>(codes, 2, packed + 2 * kOperandBytes);
        case 5: pack_nibbles(codes, packed); return pack_bits<1>(codes, 4, packed + 4 * kOperandBytes);
        case 6: pack_nibbles(codes, packed); return pack_bits<2>(codes, 4, packed + 4 * kOperandBytes);
        case 8: std::memcpy(packed, codes, sizeof codes); return;
        default: return pack_nibbles(codes, packed);
    }
}

void unpack_codes(int bits, const std::byte* packed, PanelCodes& codes) noexcept {
    std::memset(codes, 0, sizeof codes);
    switch (bits) {
        case 2: return unpack_bits<2>(packed, 0, codes);
        case 3: unpack_bits<2>(packed, 0, codes); return unpack_bits<1>(packed + 2 * kOperandBytes, 2, codes);
        case 5: unpack_nibbles(packed, codes); return unpack_bits<1>(packed + 4 * kOperandBytes, 4, codes);
        case 6: unpack_nibbles(packed, codes); return unpack_bits<2>(packed + 4 * kOperandBytes, 4, codes);
        case 8: std::memcpy(codes, packed, sizeof codes); return;
        default: return unpack_nibbles(packed, codes);
    }
}

}  // namespace mixtura
