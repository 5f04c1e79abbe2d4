// The feed-forward of a mixture layer on views: what a forward pass calls with its own threads and scratch.  ExpertPool
// wraps it; tiers will stand behind the same views.
#pragma once

#include <mixtura/expert_pool.hpp>

#include <span>

#include "kernels/kernel_table.hpp"
#include "kernels/layout.hpp"
#include "memory/aligned_buffer.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

struct ExpertView {
    PackedMatrix gate, up, down;  // gate without data: ungated
    const float* gate_bias = nullptr;
    const float* up_bias = nullptr;
    const float* down_bias = nullptr;
};
struct MixtureView {
    std::span<const ExpertView> experts;  // [E]
    ExpertView shared;                    // up without data: none
    PackedMatrix shared_gate;             // [1, H]; data nullptr: none
};

// Scratch that grows to what a call needs and is kept for the next one.
class MixtureScratch {
  public:
    // For up to T tokens with K choices each; OUT_OF_HOST_MEMORY.
    Status reserve(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices);
    static std::uint64_t bytes(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices) noexcept;
    std::byte* data() noexcept { return buffer_.data(); }

  private:
    AlignedBuffer buffer_;
    std::uint64_t size_bytes_ = 0;
};

// hidden [T, H], output [T, H] overwritten, both dense.  Pre: `plan` is grouped and fits the spec and T; scratch is
// reserved for T and plan.choices.
void run_mixture(const KernelTable& kernels, ParallelFor& threads, const ExpertSpec& spec, const MixtureView& view,
                 const float* hidden, const RoutePlan& plan, MixtureScratch& scratch, float* output) noexcept;

}  // namespace mixtura
