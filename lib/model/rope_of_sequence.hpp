// The frequencies one sequence is rotated with: the model's, or what its limit makes of them.  Called by the forward
// pass and, for the plain ones, when a configuration is read.
#pragma once

#include <span>

#include "model/spec.hpp"

namespace mixtura {

// theta^(-2i / (2 count)) for i below count, in f32, as the owners' code rounds it.
void fill_plain_frequencies(float theta, std::span<float> frequencies) noexcept;

struct SequenceRope {
    const float* frequencies = nullptr;  // [rotated width / 2], in the spec or in the caller's room
    float magnitude = 1.0F;
};
// `room`: at least as many as the spec has frequencies.
SequenceRope rope_of_sequence(const RopeSpec& rope, std::int64_t limit_tokens, std::span<float> room) noexcept;

}  // namespace mixtura
