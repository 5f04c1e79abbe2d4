// MixtureSpec::sequence_capacity over a step's plan: what a token keeps hangs on its own sequence alone, not on the
// company it has, as Router's capacity would.  Source: Fedus et al. 2021 (arXiv 2101.03961), 2.2; the owners' code
// counts by sequence.
#pragma once

#include <span>

#include "model/forward.hpp"

namespace mixtura {

// Takes the choices out that come behind `capacity` of the same sequence for the same expert.
Status drop_beyond(std::int64_t capacity, std::span<const StepSequence> sequences, RoutePlan& plan);

}  // namespace mixtura
