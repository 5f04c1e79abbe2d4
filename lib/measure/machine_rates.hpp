// Inside the library and its benches: the rates of a given set of threads, by a given clock.
#pragma once

#include <mixtura/machine.hpp>

#include "parallel/parallel_for.hpp"

namespace mixtura {

double seconds_since_start() noexcept;  // wall time, steady

// Each rate is the best of several rounds: on a machine that others use too, a round that was disturbed tells nothing.
// OUT_OF_HOST_MEMORY.
Result<MachineRates> measure_rates(ParallelFor& threads, double (*seconds_now)() noexcept);

}  // namespace mixtura
