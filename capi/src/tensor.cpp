// Tensors as a host has them, to dense rows.
#include <algorithm>

#include "convert.hpp"

namespace mixtura::capi {
namespace {

std::string shape_text(std::span<const std::int64_t> extents) {
    std::string text = "[";
    for (const std::int64_t extent : extents) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

// Copies a strided tensor of a plain type; `axis` is the one to walk.
void gather(const std::byte* from, const mixtura_tensor& tensor, std::int32_t axis, std::size_t element_bytes,
            std::byte*& to) {
    const std::int64_t stride = tensor.stride_bytes[axis];
    for (std::int64_t i = 0; i < tensor.shape[axis]; ++i, from += stride) {
        if (axis + 1 < tensor.rank) {
            gather(from, tensor, axis + 1, element_bytes, to);
        } else {
            std::memcpy(to, from, element_bytes);
            to += element_bytes;
        }
    }
}

}  // namespace

const void* dense_rows(const mixtura_tensor& tensor, std::span<const std::int64_t> shape, const std::string& name,
                       std::vector<std::byte>& storage) {
    given(static_cast<const std::byte*>(tensor.data), (name + ".data").c_str());
    if (tensor.rank < 1 || tensor.rank > MIXTURA_TENSOR_RANK_MAX) {
        fail(StatusCode::invalid_argument, name + ".rank is " + std::to_string(tensor.rank) + ", expected 1 to " +
                                               std::to_string(MIXTURA_TENSOR_RANK_MAX));
    }
    const std::span<const std::int64_t> extents(tensor.shape, static_cast<std::size_t>(tensor.rank));
    if (!std::equal(extents.begin(), extents.end(), shape.begin(), shape.end())) {
        fail(StatusCode::invalid_argument,
             name + " has shape " + shape_text(extents) + ", expected " + shape_text(shape));
    }
    const DTypeInfo& type = dtype_info(static_cast<DType>(tensor.dtype));
    const auto known = Shape::from(shape);
    const auto bytes = known ? tensor_size_bytes(type.dtype, *known) : std::nullopt;
    if (!bytes || *bytes > PTRDIFF_MAX) {
        fail(StatusCode::invalid_argument, name + " of shape " + shape_text(shape) + " and element type " +
                                               std::string(type.name) + " has no size in memory");
    }
    // Strides that say nothing else than "dense" need no copy.
    bool is_dense = true;
    auto dense_stride = static_cast<std::int64_t>(type.block_bytes);
    for (std::int32_t axis = tensor.rank - 1; axis >= 0; --axis) {
        if (tensor.shape[axis] != 1 && tensor.stride_bytes[axis] != dense_stride) is_dense = false;
        dense_stride *= axis == tensor.rank - 1 ? tensor.shape[axis] / type.block_elements : tensor.shape[axis];
    }
    const bool says_nothing = std::all_of(tensor.stride_bytes, tensor.stride_bytes + tensor.rank,
                                          [](std::int64_t stride) { return stride == 0; });
    if (is_dense || says_nothing) return tensor.data;
    if (type.block_elements != 1) {
        fail(StatusCode::unsupported, name + " has strides, which a tensor of blocks (" + std::string(type.name) +
                                          ") cannot have; make it dense, or pass its matrices one by one");
    }
    storage.resize(static_cast<std::size_t>(*bytes));
    std::byte* to = storage.data();
    gather(static_cast<const std::byte*>(tensor.data), tensor, 0, static_cast<std::size_t>(type.block_bytes), to);
    return storage.data();
}

}  // namespace mixtura::capi
