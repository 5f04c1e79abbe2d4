#include "model/relative_bias.hpp"

#include <algorithm>

#include "kernels/math.hpp"

namespace mixtura {

// In f32, as the owners' code: at 8 · 2^k of 8 and 128 the quotient of logarithms is a whole number, and which side of
// it rounding leaves decides.
std::int64_t bucket_of_distance(const RelativeBiasSpec& spec, bool sees_both_ways, std::int64_t distance) noexcept {
    const std::int64_t buckets = sees_both_ways ? spec.buckets / 2 : spec.buckets, exact = buckets / 2;
    const std::int64_t first = sees_both_ways && distance > 0 ? buckets : 0;
    const std::int64_t away = sees_both_ways ? std::max(distance, -distance) : std::max<std::int64_t>(-distance, 0);
    if (away < exact) return first + away;
    const auto ratio = static_cast<float>(away) / static_cast<float>(exact);
    const auto reach = static_cast<float>(log_f64(static_cast<double>(spec.distance_max) / static_cast<double>(exact)));
    const float share = log_f32(ratio) / reach * static_cast<float>(buckets - exact);
    return first + std::min(exact + static_cast<std::int64_t>(share), buckets - 1);
}

std::vector<float> bias_by_distance(const AttentionSpec& attention, const float* table) {
    const std::int64_t reach = attention.bias.distance_max;
    std::vector<float> bias;
    for (std::int64_t head = 0; head < attention.query_heads; ++head) {
        for (std::int64_t distance = -reach; distance <= reach; ++distance) {
            const std::int64_t bucket = bucket_of_distance(attention.bias, attention.sees_both_ways, distance);
            bias.push_back(table[bucket * attention.query_heads + head]);
        }
    }
    return bias;
}

}  // namespace mixtura
