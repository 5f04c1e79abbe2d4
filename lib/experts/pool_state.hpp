// What an ExpertPool holds, and how rooms above make one over weights that already lie packed in memory.
#pragma once

#include <mixtura/expert_pool.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "experts/mixture.hpp"
#include "kernels/kernel_table.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

struct ExpertPool::State {
    ExpertSpec spec;
    std::vector<ExpertView> experts;  // [E]
    ExpertView shared;
    PackedMatrix shared_gate;
    const KernelTable* kernels = nullptr;
    std::shared_ptr<ParallelFor> threads;
    std::shared_ptr<const void> keep_alive;  // owns what the views point to
    std::uint64_t weight_bytes = 0;

    std::mutex turn;  // held for the length of a run(): guards the two below
    MixtureScratch scratch;
    std::vector<std::uint8_t> is_slot_seen;  // [slots], for checking a plan

    std::atomic<std::uint64_t> tokens{0}, expert_runs{0}, choices{0};
};

// Pre: the views fit the spec.  keep_alive owns their memory; weight_bytes is what the pool reports.
ExpertPool make_expert_pool(ExpertSpec spec, std::vector<ExpertView> experts, ExpertView shared,
                            PackedMatrix shared_gate, const KernelTable* kernels, std::shared_ptr<ParallelFor> threads,
                            std::shared_ptr<const void> keep_alive, std::uint64_t weight_bytes);

}  // namespace mixtura
