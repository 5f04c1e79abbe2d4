// Register-only loops of the widest multiply-adds, and a streaming read; the instructions are written out, as in
// x86/peak_loops_x86.cpp.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/isa.hpp"

namespace mixtura::neon {
namespace {

constexpr int kSums = 16;  // four pipes, latencies of three to four cycles

void float_chains(std::int64_t rounds) noexcept {
    float32x4_t sum[kSums];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums; ++i) sum[i] = vdupq_n_f32(static_cast<float>(i));
    const float32x4_t a = vdupq_n_f32(0.5F);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums; ++i) __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(sum[i]) : "w"(a));
    }
}

MIXTURA_TARGET_DOTPROD void integer_chains(std::int64_t rounds) noexcept {
    int32x4_t sum[kSums];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums; ++i) sum[i] = vdupq_n_s32(i);
    const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums; ++i) __asm__ volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum[i]) : "w"(a), "w"(b));
    }
}

void read_lines(const std::byte* from, std::int64_t bytes) noexcept {
    for (std::int64_t i = 0; i < bytes; i += kPeakReadBytes) {
        for (std::int64_t j = 0; j < kPeakReadBytes; j += 64) {
            uint8x16_t a, b, c, d;
            __asm__ volatile(
                "ldp %q0, %q1, [%4]\n\t"
                "ldp %q2, %q3, [%4, #32]"
                : "=&w"(a), "=&w"(b), "=&w"(c), "=&w"(d)
                : "r"(from + i + j)
                : "memory");
        }
    }
}

}  // namespace

void fill_peak_loops(PeakLoops& loops) noexcept {
    loops.floating = {float_chains, 2 * 4 * kSums};
    loops.read = read_lines;
}

void fill_peak_loops_dot(PeakLoops& loops) noexcept { loops.integer = {integer_chains, 2 * 16 * kSums}; }

}  // namespace mixtura::neon
