#include "model/rope_of_sequence.hpp"

#include "kernels/math.hpp"

namespace mixtura {

void fill_plain_frequencies(float theta, std::span<float> frequencies) noexcept {
    const auto width = static_cast<float>(2 * frequencies.size());
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] = 1.0F / pow_f32(theta, static_cast<float>(2 * i) / width);
}

SequenceRope rope_of_sequence(const RopeSpec& rope, std::int64_t limit_tokens, std::span<float> room) noexcept {
    if (rope.original_tokens == 0 || limit_tokens <= rope.original_tokens)
        return {rope.inverse_frequencies.data(), rope.magnitude};
    if (!rope.long_frequencies.empty()) return {rope.long_frequencies.data(), rope.long_magnitude};
    // Dynamic NTK: theta · (f · limit / original - (f - 1))^(d / (d - 2)), which stretches the longest wave by f ·
    // limit / original - (f - 1) and keeps the shortest.  Source: transformers, modeling_rope_utils,
    // _compute_dynamic_ntk_parameters, with the limit for the current length.
    const std::size_t pairs = rope.inverse_frequencies.size();
    const auto width = static_cast<float>(2 * pairs);
    const float stretch =
        rope.ntk_factor * static_cast<float>(limit_tokens) / static_cast<float>(rope.original_tokens) -
        (rope.ntk_factor - 1.0F);
    fill_plain_frequencies(rope.theta * pow_f32(stretch, width / (width - 2.0F)), room.first(pairs));
    return {room.data(), rope.magnitude};
}

}  // namespace mixtura
