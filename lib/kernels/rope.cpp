#include "kernels/rope.hpp"

#include "kernels/math.hpp"

namespace mixtura {

void rope_table(ParallelFor& threads, const std::int32_t* positions, std::int64_t token_count,
                const float* inverse_frequencies, std::int64_t pair_count, float magnitude, float* cosines,
                float* sines) noexcept {
    parallel_for(threads, token_count, [&](std::int64_t t, int) noexcept {
        for (std::int64_t i = 0; i < pair_count; ++i) {
            const SinCos turn = sin_cos_f32(static_cast<float>(positions[t]) * inverse_frequencies[i]);
            cosines[t * pair_count + i] = turn.cos * magnitude;
            sines[t * pair_count + i] = turn.sin * magnitude;
        }
    });
}

void rope_rotate(const KernelTable& kernels, ParallelFor& threads, RopePairing pairing, const float* cosines,
                 const float* sines, std::int64_t pair_count, float* x, std::int64_t token_count,
                 std::int64_t row_stride, std::int64_t head_count, std::int64_t head_stride) noexcept {
    parallel_for(threads, token_count, [&](std::int64_t t, int) noexcept {
        for (std::int64_t h = 0; h < head_count; ++h) {
            kernels.rotate(pairing, cosines + t * pair_count, sines + t * pair_count, pair_count,
                           x + t * row_stride + h * head_stride);
        }
    });
}

}  // namespace mixtura
