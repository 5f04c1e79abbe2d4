// One row of a packed matrix as numbers again.  The forward pass looks tokens up in the panels of the output head where
// the two are one matrix, so that it is held once; who looks rows up only keeps them as the file has them instead.
#pragma once

#include "kernels/layout.hpp"

namespace mixtura {

// out [matrix.columns] f32, overwritten: the bits that decoder(matrix.dtype) gives for the row of the file, the
// columns of an ordered matrix where their activations are.  `row` is in [0, matrix.rows).  Reads the lines of 15 other
// rows along: 20 to 160 µs for 8192 columns, where the row of the file takes 5 to 50.
void unpack_row(const PackedMatrix& matrix, std::int64_t row, float* out) noexcept;

}  // namespace mixtura
