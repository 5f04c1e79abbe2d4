#include "support/arrays.hpp"

#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>

namespace mixtura::test {
namespace {

std::int64_t product(std::span<const std::int64_t> extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

// Element i of the result is element source_of(i) of `from`.
Array gathered(const Array& from, std::vector<std::int64_t> shape,
               const std::function<std::int64_t(std::int64_t)>& source_of) {
    const auto width = static_cast<std::size_t>(dtype_info(from.dtype).block_bytes);
    Array out{from.dtype, std::move(shape), {}};
    const std::int64_t count = product(out.shape);
    out.bytes.resize(static_cast<std::size_t>(count) * width);
    for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(out.bytes.data() + static_cast<std::size_t>(i) * width,
                    from.bytes.data() + static_cast<std::size_t>(source_of(i)) * width, width);
    }
    return out;
}

}  // namespace

std::int64_t Array::extent(int from_the_end) const {
    return shape.at(shape.size() - static_cast<std::size_t>(from_the_end));
}

Array array_of(const Checkpoint& checkpoint, std::string_view name) {
    const TensorInfo* info = checkpoint.find(name);
    if (info == nullptr) throw std::runtime_error("no tensor " + std::string(name));
    const auto extents = info->shape.extents();
    Array array{info->dtype, {extents.begin(), extents.end()}, std::string(info->size_bytes, '\0')};
    if (const Status status = checkpoint.read(*info, std::as_writable_bytes(std::span(array.bytes))); !status)
        throw std::runtime_error(std::string(status.message()));
    return array;
}

Array reshaped(Array array, std::vector<std::int64_t> shape) {
    if (product(shape) != product(array.shape)) throw std::runtime_error("a reshaped tensor has other elements");
    array.shape = std::move(shape);
    return array;
}

Array swapped(const Array& array) {
    const std::int64_t rows = array.extent(2), columns = array.extent(1);
    std::vector<std::int64_t> shape = array.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return gathered(array, std::move(shape), [&](std::int64_t i) {
        const std::int64_t matrix = i / (rows * columns), rest = i % (rows * columns);
        return (matrix * rows + rest % rows) * columns + rest / rows;
    });
}

Array taken(const Array& array, int axis_from_the_end, std::int64_t begin, std::int64_t count, std::int64_t stride) {
    const std::size_t axis = array.shape.size() - static_cast<std::size_t>(axis_from_the_end);
    const std::int64_t extent = array.shape.at(axis), inner = product(std::span(array.shape).subspan(axis + 1));
    if (begin + (count - 1) * stride >= extent) throw std::runtime_error("a tensor is cut behind its end");
    std::vector<std::int64_t> shape = array.shape;
    shape[axis] = count;
    return gathered(array, std::move(shape), [&](std::int64_t i) {
        const std::int64_t outer = i / (count * inner), at = i / inner % count;
        return (outer * extent + begin + at * stride) * inner + i % inner;
    });
}

Array stacked(const std::vector<Array>& arrays) {
    Array out = arrays.at(0);
    out.shape.insert(out.shape.begin(), static_cast<std::int64_t>(arrays.size()));
    for (std::size_t i = 1; i < arrays.size(); ++i) {
        if (arrays[i].shape != arrays[0].shape) throw std::runtime_error("stacked tensors differ in shape");
        out.bytes += arrays[i].bytes;
    }
    return out;
}

Array joined(const Array& a, const Array& b) {
    // Through [outer, 2 parts] rows: as a stack of matrices whose rows are these.
    Array out{a.dtype, a.shape, {}};
    out.shape[out.shape.size() - 2] += b.extent(2);
    const auto size = [](const Array& array) {
        return static_cast<std::size_t>(array.extent(2) * array.extent(1) * dtype_info(array.dtype).block_bytes);
    };
    for (std::size_t at_a = 0, at_b = 0; at_a < a.bytes.size(); at_a += size(a), at_b += size(b))
        out.bytes += a.bytes.substr(at_a, size(a)) + b.bytes.substr(at_b, size(b));
    return out;
}

Array paired_heads(const Array& rows, std::int64_t head_count) {
    const std::int64_t columns = rows.shape.size() > 1 ? rows.extent(1) : 1;
    const std::int64_t width = rows.shape[0] / head_count, half = width / 2;
    return gathered(rows, rows.shape, [&](std::int64_t i) {
        const std::int64_t row = i / columns, head = row / width, at = row % width;
        return (head * width + at % 2 * half + at / 2) * columns + i % columns;
    });
}

Array as_f32(const Array& array) {
    if (array.dtype == DType::f32) return array;
    if (array.dtype != DType::bf16) throw std::runtime_error("only bf16 becomes f32 here");
    Array out{DType::f32, array.shape, {}};
    for (std::size_t i = 0; i < array.bytes.size(); i += 2)
        out.bytes += std::string(2, '\0') + array.bytes.substr(i, 2);
    return out;
}

}  // namespace mixtura::test
