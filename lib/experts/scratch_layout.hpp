// Where the parts of a MixtureScratch lie for T tokens of K choices: a pure function of the sizes, so that reserve()
// and run_mixture() agree.  Every part starts on a cache line.  No size grows when T or K shrinks.
#pragma once

#include <mixtura/expert_pool.hpp>

#include <cstdint>
#include <optional>

namespace mixtura {

// Outputs of the down products that one task keeps before it mixes them: this much stays in a 2 MiB L2 beside the
// weights and the activations that pass by.
inline constexpr std::uint64_t kPieceBytes = 512 << 10;

struct ScratchLayout {
    std::uint64_t input_blocks = 0;    // ActivationBlock [T, H / 32]
    std::uint64_t scaled = 0;          // f32 [T · K, H], weight · x by slot: weight_at input only
    std::uint64_t scaled_blocks = 0;   // ActivationBlock [T · K, H / 32], the same
    std::uint64_t routed = 0;          // [T · K] rows of F: f32, or ActivationBlocks where `down` reads those
    std::uint64_t shared = 0;          // [T] rows of shared_width, the same
    std::uint64_t shared_factor = 0;   // f32 [T]
    std::uint64_t choice_of_slot = 0;  // i32 [T · K]: t · K + k
    std::uint64_t jobs = 0;            // ExpertJob [E + 1]
    std::uint64_t pieces = 0;          // f32, shared among the tasks that mix
    std::uint64_t pieces_bytes = 0;
    std::uint64_t size_bytes = 0;

    // Nothing where the sizes leave uint64.
    static std::optional<ScratchLayout> of(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices) noexcept;
};

}  // namespace mixtura
