// Sizes that a router accepts.
#pragma once

#include <cstdint>
#include <limits>

namespace mixtura {

inline constexpr std::int64_t kRouterSizeMax = std::int64_t{1} << 24;  // H, E, gate_width
// Slots and tokens are counted in int32.
inline constexpr std::int64_t kRouteSlotsMax = std::numeric_limits<std::int32_t>::max();

}  // namespace mixtura
