// Where one matrix or vector of a model lies in its files, as a family's name map says it: a tensor's name, and how to
// cut the matrix out of a tensor that holds more (fused projections, stacked experts) or holds it transposed.
#pragma once

#include <cstdint>
#include <string>

namespace mixtura {

// Rows of a tensor that make up a matrix: `run` rows from `begin` on, the next `run` rows `stride` further, and so on
// until there are as many as the matrix has.  The default takes all rows in order.  Examples: the keys of a plain fused
// [3H, H] projection are {H}; BLOOM interleaves heads, [head][q, k, v][D], so its keys are {D, D, 3 * D}; an
// interleaved gate/up pair has its ups at {1, 1, 2}.
struct RowPattern {
    std::int64_t begin = 0;
    std::int64_t run = 0;  // 0: one run of everything
    std::int64_t stride = 0;

    bool operator==(const RowPattern&) const = default;
};

struct WeightSource {
    std::string tensor = {};        // name in the files; empty: the model has no such matrix
    std::int64_t slice = -1;        // index along the outermost axis of a stacked tensor; -1: not stacked
    std::int64_t slice_count = 0;   // > 0: the tensor is a matrix of so many slices' rows one below another
    bool is_transposed = false;     // the file stores [in, out]
    std::int64_t input_begin = -1;  // transposed: the first file row that is an input of this matrix; -1: all are
    RowPattern rows = {};           // of the matrix as [out, in]
    // MXFP4 in two tensors: `tensor` holds [out, in / 32, 16] code bytes, this one [out, in / 32] exponents.
    std::string scales = {};

    bool is_present() const noexcept { return !tensor.empty(); }
    bool operator==(const WeightSource&) const = default;
};

}  // namespace mixtura
