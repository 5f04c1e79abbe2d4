// Bindings against the tensors they name: what is to be read, from where, and how many bytes it will take in memory.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/model_files.hpp"
#include "weights/placed_memory.hpp"
#include "weights/weight_store.hpp"

namespace mixtura {

// MXFP4 in two tensors: 32 columns are 16 bytes of codes and one exponent.
inline constexpr std::int64_t kMxBlockColumns = 32, kMxCodeBytes = 16;

// A binding with its tensor and its place in memory.
struct WeightJob {
    const WeightBinding* binding = nullptr;
    const TensorInfo* tensor = nullptr;
    const TensorInfo* scales = nullptr;    // of MXFP4 in two tensors
    const PackedTensor* packed = nullptr;  // of a weight in several tensors by a quantisation scheme
    std::optional<std::size_t> same_as;    // an earlier job with the same bytes, whose memory serves both
    DType dtype = DType::unknown;          // in memory
    std::int64_t file_rows = 0;            // of the tensor or slice as the file stores it
    std::uint64_t file_row_bytes = 0;      // of one of them
    std::uint64_t slice_offset = 0;        // from the tensor's begin to the slice's
    std::uint64_t memory_bytes = 0;
    Place memory = {};
    std::uint64_t order_bytes = 0;  // beside them, of PackedMatrix::order
    std::int32_t* order = nullptr;
};

// The row of the tensor (or its slice) that is row `row` of the matrix.
std::int64_t file_row(const WeightBinding& binding, std::int64_t row) noexcept;

// What a tensor of type `file` becomes where `wanted` is asked for: 16- and 32-bit numbers only, never more bits than
// they had, in columns that blocks divide (q4_k else q5_0, q6_k else q8_0); `file` where it stays.
DType settled_target(DType wanted, DType file, std::int64_t columns) noexcept;

// Every binding checked against the index; errors as WeightStore::load.
Result<std::vector<WeightJob>> make_weight_jobs(const WeightIndex& index, const std::vector<WeightBinding>& bindings);

}  // namespace mixtura
