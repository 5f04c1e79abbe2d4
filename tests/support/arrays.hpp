// Tensors as bytes with a shape, and the rearrangements that converters of checkpoints make of them.
#pragma once

#include <mixtura/checkpoint.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura::test {

struct Array {
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::string bytes;  // row-major

    std::int64_t extent(int from_the_end) const;  // 1: the innermost axis
};

// One tensor of a checkpoint; throws where there is none.
Array array_of(const Checkpoint& checkpoint, std::string_view name);

Array reshaped(Array array, std::vector<std::int64_t> shape);
Array swapped(const Array& array);  // the two innermost axes
// `count` of an axis, `stride` apart from `begin` on; the axis is counted from the innermost, which is 1.
Array taken(const Array& array, int axis_from_the_end, std::int64_t begin, std::int64_t count, std::int64_t stride = 1);
Array stacked(const std::vector<Array>& arrays);  // along a new outermost axis
Array joined(const Array& a, const Array& b);     // [.., R, C] and [.., S, C] as [.., R + S, C]
// Rows of heads rotated by halves, as rows of heads rotated by neighbouring pairs: i and i + D/2 become 2i and 2i + 1.
Array paired_heads(const Array& rows, std::int64_t head_count);
Array as_f32(const Array& array);  // of bf16 or f32

}  // namespace mixtura::test
