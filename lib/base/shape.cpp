#include <mixtura/types.hpp>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace mixtura {

std::optional<Shape> Shape::from(std::span<const std::int64_t> extents) noexcept {
    if (extents.size() > kMaxRank) return std::nullopt;
    Shape shape;
    // An extent of zero must not hide that the others do not fit, so it is left out of the product until the end.
    std::int64_t product = 1;
    bool is_empty = false;
    for (const std::int64_t extent : extents) {
        if (extent < 0) return std::nullopt;
        shape.extents_[shape.rank_++] = extent;
        if (extent == 0) {
            is_empty = true;
            continue;
        }
        const auto next = checked_multiply(product, extent);
        if (!next) return std::nullopt;
        product = *next;
    }
    shape.element_count_ = is_empty ? 0 : product;
    return shape;
}

std::string Shape::to_string() const {
    std::string out = "[";
    for (std::size_t axis = 0; axis < rank_; ++axis) out += text(axis == 0 ? "" : ", ", extents_[axis]);
    return out += ']';
}

}  // namespace mixtura
