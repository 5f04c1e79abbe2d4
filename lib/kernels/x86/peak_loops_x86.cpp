// Register-only loops of the widest multiply-adds, and a streaming read.  The instructions are written out: a compiler
// would see through intrinsics whose results nobody wants.
#include "kernels/peak_loops.hpp"
#include "kernels/x86/isa.hpp"
#include "kernels/x86/x86.hpp"

namespace mixtura {
namespace {

// As many independent sums as registers allow: latencies are four to five cycles, and two may start a cycle.
constexpr int kSums256 = 10, kSums512 = 16;

// vpmaddubsw, vpmaddwd and vpaddd: 32 products and their sums, what an AVX2 kernel does for vpdpbusd.
MIXTURA_TARGET_AVX2 void integer_avx2(std::int64_t rounds) noexcept {
    __m256i sum[kSums256];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums256; ++i) sum[i] = _mm256_set1_epi32(i);
    const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums256; ++i) {
            __m256i pairs;
            __asm__ volatile(
                "vpmaddubsw %3, %2, %1\n\t"
                "vpmaddwd %4, %1, %1\n\t"
                "vpaddd %1, %0, %0"
                : "+x"(sum[i]), "=&x"(pairs)
                : "x"(a), "x"(b), "x"(ones));
        }
    }
}

MIXTURA_TARGET_AVX2 void float_avx2(std::int64_t rounds) noexcept {
    __m256 sum[kSums256];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums256; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 a = _mm256_set1_ps(0.5F);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums256; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+x"(sum[i]) : "x"(a));
    }
}

MIXTURA_TARGET_AVX_VNNI void integer_avx_vnni(std::int64_t rounds) noexcept {
    __m256i sum[kSums256];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums256; ++i) sum[i] = _mm256_set1_epi32(i);
    const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums256; ++i)
            __asm__ volatile("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum[i]) : "x"(a), "x"(b));
    }
}

MIXTURA_TARGET_AVX512_VNNI void integer_avx512_vnni(std::int64_t rounds) noexcept {
    __m512i sum[kSums512];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums512; ++i) sum[i] = _mm512_set1_epi32(i);
    const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums512; ++i) __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(sum[i]) : "v"(a), "v"(b));
    }
}

MIXTURA_TARGET_AVX512 void float_avx512(std::int64_t rounds) noexcept {
    __m512 sum[kSums512];
    MIXTURA_UNROLL
    for (int i = 0; i < kSums512; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 a = _mm512_set1_ps(0.5F);
    for (std::int64_t n = 0; n < rounds; ++n) {
        MIXTURA_UNROLL
        for (int i = 0; i < kSums512; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(sum[i]) : "v"(a));
    }
}

// Prefetches 4 KiB ahead: the hardware's own prefetchers stop at each 4 KiB, even within a huge page.
MIXTURA_TARGET_AVX2 void read_avx2(const std::byte* from, std::int64_t bytes) noexcept {
    __m256i any = _mm256_setzero_si256();
    for (std::int64_t i = 0; i < bytes; i += kPeakReadBytes) {
        MIXTURA_UNROLL
        for (int j = 0; j < 4; ++j) _mm_prefetch(reinterpret_cast<const char*>(from) + i + 4096 + 64 * j, _MM_HINT_T0);
        MIXTURA_UNROLL
        for (int j = 0; j < 8; ++j)
            any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32 * j)));
    }
    __asm__ volatile("" : : "x"(any));
}

}  // namespace

void avx2::fill_peak_loops(PeakLoops& loops) noexcept {
    loops = {{integer_avx2, kSums256 * 64}, {float_avx2, kSums256 * 16}, read_avx2};
}
void avx_vnni::fill_peak_loops(PeakLoops& loops) noexcept { loops.integer = {integer_avx_vnni, kSums256 * 64}; }
void avx512::fill_peak_loops(PeakLoops& loops) noexcept { loops.floating = {float_avx512, kSums512 * 32}; }
void avx512::fill_peak_loops_vnni(PeakLoops& loops) noexcept { loops.integer = {integer_avx512_vnni, kSums512 * 128}; }

}  // namespace mixtura
