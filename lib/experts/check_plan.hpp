// Whether a RoutePlan that anybody may have written can be run: every index in bounds, the grouped view a faithful
// inverse of the choices.  run_mixture() relies on all of it.
#pragma once

#include <mixtura/router.hpp>

#include <cstdint>
#include <vector>

namespace mixtura {

// INVALID_ARGUMENT with what contradicts what.  `is_slot_seen`: scratch that is kept between calls.
Status check_plan(const RoutePlan& plan, std::int64_t expert_count, std::vector<std::uint8_t>& is_slot_seen);

}  // namespace mixtura
