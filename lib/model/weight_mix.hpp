// A WeightMix against the roles of a model's bindings.
#pragma once

#include <mixtura/weight_mix.hpp>

#include <span>

#include "weights/weight_store.hpp"

namespace mixtura {

// Sets what each packed binding is to be quantised to.  INVALID_ARGUMENT for a rule whose role or element type there is
// not.
Status apply_mix(const WeightMix& mix, std::span<WeightBinding> bindings);

}  // namespace mixtura
