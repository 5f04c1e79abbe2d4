// The one layout of weight matrices that every instruction set reads: panels of 16 rows, interleaved so that a vector
// lane is an output row.  Written once at load (and into the pack cache, keyed by kLayoutVersion), read by the panel
// kernels.  Rows beyond the last are zeros and give outputs that nobody stores.
//
// A panel of an integer format is a run of units (one file block of each of its rows), each:
//     d     16 x f16; mxfp4: 16 x e8m0 code
//     dmin  16 x f16, formats with minimums only
//     zero  16 zero points, int4_* only
//     then for every 32 columns of the unit:
//         q4_k q5_k   16 scale codes, 16 minimum codes            one byte each
//         q6_k q3_k   16 scale codes of the first 16 columns, 16 of the second
//         q2_k        the same, each byte scale code | minimum code << 4
//         iq4_xs      16 scale codes
//         codes       64 bytes a bit
// Codes.  Operand i (0 to 7) of 32 columns is 64 bytes: row r's columns 4i to 4i + 3 at bytes 4r to 4r + 3, which is
// what one vpdpbusd takes.  Of a code's bits:
//     4 low bits   4 x 64 bytes, vector i: operand i in the low halves, operand 4 + i in the high halves
//     2 low bits   2 x 64 bytes, vector h: operand 4h + j in bits 2j and 2j + 1     (q2_k, q3_k)
//     1 more bit   64 bytes: operand i in bit i                                      (q5_x the fifth, q3_k the third)
//     2 more bits  2 x 64 bytes, as the 2 low bits                                   (q6_k)
//     8 bits       8 x 64 bytes, operand after operand, q8_0 as q + 128
// A panel of f32, f16 or bf16 is, column after column, 16 elements.  One of f8_e4m3_32 or f8_e4m3_128 is a run of
// units: 16 x f32 scale (e4m3_scale), then 16 codes a column; one of nf4 likewise, with 16 bytes for two columns, the
// first in the low halves.  Any other dtype stays as the file has it, row after row, and is decoded as it is
// multiplied.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/integer_format.hpp"
#include "kernels/scaled_format.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

inline constexpr std::int64_t kPanelRows = 16;
inline constexpr std::uint32_t kLayoutVersion = 1;

enum class PanelKind {
    integer,    // integer_format(dtype) tells more
    plain,      // f32, f16, bf16
    scaled,     // scaled_format(dtype) tells more; multiplied as plain ones are
    file_rows,  // not interleaved
};
PanelKind panel_kind(DType dtype) noexcept;

// A part of a matrix that lies in several: panels from `first_panel` up to the next part's are `jump_bytes` away from
// where they would be if the matrix lay in one piece behind its first panel.
struct PanelPart {
    std::int64_t first_panel = 0;
    std::ptrdiff_t jump_bytes = 0;
};

// A weight matrix W [rows, columns] in the layout above.  Borrows `data`, which may lie at any address; panel starts on
// 64-byte boundaries are read fastest.
struct PackedMatrix {
    DType dtype = DType::unknown;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    const std::byte* data = nullptr;  // panel 0; nullptr: no matrix
    // One for each node of the machine, ascending, some perhaps without panels; empty: all panels lie together.
    std::span<const PanelPart> parts = {};
    // [columns], a permutation: column k multiplies element order[k] of the activations (integer formats only, at most
    // kOrderedColumnsMax columns); nullptr: element k.
    const std::int32_t* order = nullptr;
};

// So that the blocks of one token, 64 KiB, go on a stack.
inline constexpr std::int64_t kOrderedColumnsMax = 32 << 10;
inline std::uint64_t order_bytes(const PackedMatrix& matrix) noexcept {
    return matrix.order == nullptr ? 0 : static_cast<std::uint64_t>(matrix.columns) * sizeof(*matrix.order);
}

// Panels from one on that lie one behind another: up to `last_panel`, `offset_bytes` behind a matrix' first.
struct PanelRun {
    std::int64_t last_panel = 0;
    std::ptrdiff_t offset_bytes = 0;
};
// The run of panels [first_panel, …) that ends at last_panel, or where its part does.
PanelRun panel_run(std::span<const PanelPart> parts, std::int64_t panel_bytes, std::int64_t first_panel,
                   std::int64_t last_panel) noexcept;

// Where one panel lies; `bytes` is panel_bytes() of the matrix.
inline const std::byte* panel_data(const PackedMatrix& matrix, std::int64_t bytes, std::int64_t panel) noexcept {
    return matrix.data + panel_run(matrix.parts, bytes, panel, panel + 1).offset_bytes;
}

// Panels [begin, end) of a matrix that lie on node `node` of `node_count`.  A matrix that is not cut over so many has
// all of its panels on the first.
struct PanelShare {
    std::int64_t begin = 0, end = 0;
};
PanelShare panels_of_node(const PackedMatrix& matrix, std::size_t node, std::size_t node_count) noexcept;

// For tasks that each take `strip_panels` panels of a matrix in order, `tasks_per_strip` tasks a strip: where the tasks
// of each of its nodes end, as ParallelTask wants to know it (a strip over an edge counts as where it begins).
class NodeEnds {
  public:
    NodeEnds(const PackedMatrix& matrix, std::int64_t strip_panels, std::int64_t tasks_per_strip) noexcept;
    operator std::span<const std::int64_t>() const noexcept { return {ends_, count_}; }

  private:
    std::int64_t ends_[kNodesMax];
    std::size_t count_;
};

// Bytes of one panel (kPanelRows rows); for file_rows 16 rows of the file.  `columns` is a whole number of blocks.
std::int64_t panel_bytes(DType dtype, std::int64_t columns) noexcept;
inline std::int64_t panel_count(std::int64_t rows) noexcept { return (rows + kPanelRows - 1) / kPanelRows; }

// Bytes of the whole matrix packed; nothing for a dtype that cannot be multiplied (integers, bool, c64, unknown), for
// columns that are no whole number of blocks (of kBlockColumns, at least, in integer formats) or a negative or
// overflowing size.
std::optional<std::uint64_t> packed_bytes(DType dtype, std::int64_t rows, std::int64_t columns) noexcept;

// file_rows [rows, columns] as the file stores them, row after row · packed, packed_bytes() of it, overwritten; no
// overlap. Pre: packed_bytes(dtype, rows, columns) has a value.  Rows may be packed in parts, each of a multiple of
// kPanelRows rows but for the last, to packed + panel · panel_bytes().
void pack_rows(DType dtype, const std::byte* file_rows, std::int64_t rows, std::int64_t columns,
               std::byte* packed) noexcept;

inline constexpr std::int64_t kOperandBytes = 64;

// Where the parts of an integer panel lie.
struct IntegerPanel {
    std::int64_t minimum_bytes = 0;     // offset of dmin in a unit
    std::int64_t zero_bytes = 0;        // offset of the zero points in a unit
    std::int64_t header_bytes = 0;      // offset of the first 32 columns in a unit
    std::int64_t group_code_bytes = 0;  // bytes of group codes in front of the codes of 32 columns
    std::int64_t block_bytes = 0;       // of 32 columns: group codes and codes
    std::int64_t unit_bytes = 0;
};
constexpr IntegerPanel integer_panel(const IntegerFormat& format) noexcept {
    IntegerPanel panel;
    panel.minimum_bytes = kPanelRows * (format.has_exponent_scale ? 1 : 2);
    panel.zero_bytes = panel.minimum_bytes + (format.has_minimum ? 2 * kPanelRows : 0);
    panel.header_bytes = panel.zero_bytes + (format.has_zero_points ? kPanelRows : 0);
    if (format.has_group_codes) {
        const bool two_fields = format.group_columns == 16 || format.has_minimum;
        panel.group_code_bytes = kPanelRows * (two_fields ? 2 : 1);
    }
    panel.block_bytes = panel.group_code_bytes + kOperandBytes * format.code_bits;
    panel.unit_bytes = panel.header_bytes + format.unit_columns / kBlockColumns * panel.block_bytes;
    return panel;
}

// Codes of 32 columns of 16 rows: u [8 operands][16 rows][4 columns], one byte each.  bits in {2, 3, 4, 5, 6, 8}.
using PanelCodes = std::uint8_t[8][kOperandBytes];
void pack_codes(int bits, const PanelCodes& codes, std::byte* packed) noexcept;  // 64 · bits bytes
void unpack_codes(int bits, const std::byte* packed, PanelCodes& codes) noexcept;

}  // namespace mixtura
