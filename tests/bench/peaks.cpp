#include "bench/peaks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/machine.hpp"
#include "kernels/x86/isa.hpp"

namespace mixtura::bench {
namespace {

constexpr std::int64_t kBufferBytes = 1 << 30;
constexpr std::int64_t kRounds = 5;
constexpr std::int64_t kLoops = 4'000'000;

clockid_t clock_in_use = CLOCK_MONOTONIC;

// Sixteen independent accumulators hide the latency of five cycles twice over.
MIXTURA_TARGET_AVX512_VNNI void int8_512() {
    __m512i sum[16];
    MIXTURA_UNROLL
    for (int i = 0; i < 16; ++i) sum[i] = _mm512_set1_epi32(i);
    const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
    for (std::int64_t n = 0; n < kLoops; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < 16; ++i) __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(sum[i]) : "v"(a), "v"(b));
    }
}

MIXTURA_TARGET_AVX2 void f32_256() {
    __m256 sum[10];
    MIXTURA_UNROLL
    for (int i = 0; i < 10; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 a = _mm256_set1_ps(0.5F);
    for (std::int64_t n = 0; n < kLoops; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < 10; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+x"(sum[i]) : "x"(a));
    }
}

MIXTURA_TARGET_AVX512 void f32_512() {
    __m512 sum[16];
    MIXTURA_UNROLL
    for (int i = 0; i < 16; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 a = _mm512_set1_ps(0.5F);
    for (std::int64_t n = 0; n < kLoops; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < 16; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(sum[i]) : "v"(a));
    }
}

MIXTURA_TARGET_AVX2 void read_256(const std::byte* from, std::int64_t bytes) {
    __m256i any = _mm256_setzero_si256();
    for (std::int64_t i = 0; i < bytes; i += 256) {
        _mm_prefetch(reinterpret_cast<const char*>(from) + i + 4096, _MM_HINT_T0);
        MIXTURA_UNROLL
        for (int j = 0; j < 8; ++j) {
            any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32 * j)));
        }
    }
    __asm__ volatile("" : : "x"(any));
}

template <class Body>
double best_seconds(ParallelFor& threads, const Body& body) {
    double best = 1e9;
    for (std::int64_t round = 0; round < kRounds; ++round) {
        const double start = seconds_now();
        parallel_for(threads, threads.thread_count(), [&](std::int64_t i, int) noexcept { body(i); });
        best = std::min(best, seconds_now() - start);
    }
    return best;
}

}  // namespace

double seconds_now() {
    timespec now{};
    ::clock_gettime(clock_in_use, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void use_processor_time() { clock_in_use = CLOCK_THREAD_CPUTIME_ID; }

Peaks measure_peaks(ParallelFor& threads) {
    const CpuFeatures cpu = cpu_features();
    const auto count = static_cast<double>(threads.thread_count());
    Peaks peaks;
    if (!cpu.avx2) return peaks;
    if (cpu.avx512_vnni) {
        const double seconds = best_seconds(threads, [](std::int64_t) noexcept { int8_512(); });
        peaks.int8_ops_per_s = count * static_cast<double>(kLoops) * 16 * 128 / seconds;
    }
    const double wide = cpu.avx512 ? best_seconds(threads, [](std::int64_t) noexcept { f32_512(); }) : 1e9;
    const double narrow = best_seconds(threads, [](std::int64_t) noexcept { f32_256(); });
    peaks.f32_ops_per_s = count * static_cast<double>(kLoops) * std::max(16 * 32 / wide, 10 * 16 / narrow);
    const std::vector<std::byte> buffer(static_cast<std::size_t>(kBufferBytes) + 8192, std::byte{1});
    const std::int64_t share = kBufferBytes / threads.thread_count() / 256 * 256;
    const double seconds =
        best_seconds(threads, [&](std::int64_t i) noexcept { read_256(buffer.data() + i * share, share); });
    peaks.read_bytes_per_s = static_cast<double>(share) * count / seconds;
    return peaks;
}

}  // namespace mixtura::bench
