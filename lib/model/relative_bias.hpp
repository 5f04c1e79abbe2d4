// The learned bias of a layer with PositionKind::relative_bias, from buckets to distances.
#pragma once

#include <vector>

#include "model/spec.hpp"

namespace mixtura {

// The bucket of a key at `distance` = key position - query position, 0 to buckets - 1.
std::int64_t bucket_of_distance(const RelativeBiasSpec& spec, bool sees_both_ways, std::int64_t distance) noexcept;

// [query heads][2 · distance_max + 1] from `table` [buckets, query heads]: what AttentionShape::bias is.
std::vector<float> bias_by_distance(const AttentionSpec& attention, const float* table);

}  // namespace mixtura
