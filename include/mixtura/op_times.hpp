// Where the time of forward passes goes, by kind of operation.  GenerationOptions::op_times asks for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mixtura {

// The parts of a step, in the order of a layer.
enum class Op : std::int32_t {
    embedding = 0,
    norm = 1,
    projection = 2,  // queries, keys and values
    rotation = 3,    // rotary positions, norms of heads, clips
    cache = 4,       // keys and values into the cache
    attention = 5,
    output = 6,   // the attention's output projection
    dense = 7,    // feed-forward of dense layers
    router = 8,   // gate and choice
    experts = 9,  // experts and their combination, shared ones included
    residual = 10,
    check = 11,  // for numbers that are not finite
    head = 12,   // final norm and logits
};
inline constexpr std::size_t kOpCount = 13;
std::string_view op_name(Op op) noexcept;  // "attention"; static storage

struct OpTimes {
    std::array<double, kOpCount> seconds = {};
    std::int64_t steps = 0;

    double total_seconds() const noexcept;
};

}  // namespace mixtura
