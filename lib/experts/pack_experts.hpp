// Bare tensors into the layout the kernels read: an expert's matrices and biases one behind the other, a page each
// expert, every part on a cache line, or such a page on each NUMA node.  ExpertPool::create calls it.
#pragma once

#include <mixtura/expert_pool.hpp>

#include <vector>

#include "experts/mixture.hpp"
#include "weights/placed_memory.hpp"

namespace mixtura {

struct PackedExperts {
    PlacedMemory memory;
    std::vector<ExpertView> experts;
    ExpertView shared;
    PackedMatrix shared_gate;
};

// INVALID_ARGUMENT for sizes out of bounds or a matrix missing, UNSUPPORTED, OUT_OF_HOST_MEMORY; see expert_pool.hpp.
Result<PackedExperts> pack_experts(const ExpertWeights& weights, const ExpertSpec& spec,
                                   const Placement& placement = {});

}  // namespace mixtura
