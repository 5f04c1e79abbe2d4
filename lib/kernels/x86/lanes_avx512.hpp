// Inside x86/ only: sixteen f32 lanes in one 512-bit register.  lanes_avx2.hpp has the same interface over two
// registers; rows_body.hpp and attention_body.hpp are written once against it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/x86/isa.hpp"

#define MIXTURA_LANES MIXTURA_TARGET_AVX512 MIXTURA_ALWAYS_INLINE

namespace mixtura::avx512 {

using Lanes = __m512;
using Mask = __mmask16;

// Register blocks of attention_dots_body.hpp and attention_body.hpp: thirty-two 512-bit registers.
constexpr int kDotsAtOnce = 8;
constexpr int kTileQueries = 8, kTileKeyLanes = 2, kTileQueriesMin = 8;
constexpr int kQueriesAtOnce = 4, kLanesAtOnce = 4;

MIXTURA_LANES Mask first_lanes(std::int64_t count) {
    return static_cast<Mask>((1U << count) - 1U);
}  // count in [0, 16]

MIXTURA_LANES Lanes broadcast(float x) { return _mm512_set1_ps(x); }
MIXTURA_LANES Lanes load(const float* x) { return _mm512_loadu_ps(x); }
MIXTURA_LANES Lanes load_first(const float* x, Mask lanes) { return _mm512_maskz_loadu_ps(lanes, x); }  // others 0
MIXTURA_LANES void store(float* y, Lanes x) { _mm512_storeu_ps(y, x); }
MIXTURA_LANES void store_first(float* y, Mask lanes, Lanes x) { _mm512_mask_storeu_ps(y, lanes, x); }

MIXTURA_LANES Lanes add(Lanes a, Lanes b) { return _mm512_add_ps(a, b); }
MIXTURA_LANES Lanes sub(Lanes a, Lanes b) { return _mm512_sub_ps(a, b); }
MIXTURA_LANES Lanes mul(Lanes a, Lanes b) { return _mm512_mul_ps(a, b); }
MIXTURA_LANES Lanes div(Lanes a, Lanes b) { return _mm512_div_ps(a, b); }
MIXTURA_LANES Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
MIXTURA_LANES Lanes negated_fma(Lanes a, Lanes b, Lanes c) { return _mm512_fnmadd_ps(a, b, c); }  // c - a · b
MIXTURA_LANES Lanes larger(Lanes a, Lanes b) { return _mm512_max_ps(a, b); }   // a > b ? a : b, so b where one is NaN
MIXTURA_LANES Lanes smaller(Lanes a, Lanes b) { return _mm512_min_ps(a, b); }  // a < b ? a : b

MIXTURA_LANES Lanes negate(Lanes a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0F)); }
MIXTURA_LANES Lanes magnitude(Lanes a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0F), a); }
MIXTURA_LANES Lanes with_sign_of(Lanes positive, Lanes sign) {
    return _mm512_or_ps(magnitude(positive), _mm512_and_ps(sign, _mm512_set1_ps(-0.0F)));
}
MIXTURA_LANES Mask is_less(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
MIXTURA_LANES Lanes select(Mask mask, Lanes yes, Lanes no) { return _mm512_mask_blend_ps(mask, no, yes); }

// p · 2^whole for the whole number `shifted` holds above 1.5 · 2^23, rounded once, as exp_f32's two steps round: the
// first of them is exact.
MIXTURA_LANES Lanes times_power_of_two(Lanes p, Lanes shifted, float round) {
    return _mm512_scalef_ps(p, _mm512_sub_ps(shifted, _mm512_set1_ps(round)));
}

MIXTURA_LANES float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

// The tree 8-4-2-1 of reduce.hpp.
MIXTURA_LANES float tree_sum(Lanes a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Eight trees at once: each step halves the width and packs two registers' sums into one.
MIXTURA_LANES void tree_sums(const Lanes (&a)[8], float* sums) {
    Lanes b[4], c[2];
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {  // eight lanes a sum
        b[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0x44),
                             _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0xEE));
    }
    MIXTURA_UNROLL
    for (int i = 0; i < 2; ++i) {  // four lanes a sum
        c[i] = _mm512_add_ps(_mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xDD));
    }
    const Lanes two = _mm512_add_ps(_mm512_shuffle_ps(c[0], c[1], 0x44), _mm512_shuffle_ps(c[0], c[1], 0xEE));
    const Lanes one = _mm512_add_ps(two, _mm512_movehdup_ps(two));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm256_storeu_ps(sums, _mm512_castps512_ps256(_mm512_permutexvar_ps(order, one)));
}

MIXTURA_LANES float first_lane(Lanes a) { return _mm512_cvtss_f32(a); }
MIXTURA_LANES Lanes lane_numbers() { return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
// Lanes first to last - 1 of what may begin before lane 0 and end behind lane 15.
MIXTURA_LANES Mask lanes_between(std::int64_t first, std::int64_t last) {
    const Mask begin = first_lanes(first < 0 ? 0 : first > 16 ? 16 : first);
    const Mask end = first_lanes(last < 0 ? 0 : last > 16 ? 16 : last);
    return static_cast<Mask>(end & ~begin);
}

// The largest lane; no lane is NaN.
MIXTURA_LANES float largest_lane(Lanes a) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Sixteen f16 or bf16 at any address.
MIXTURA_LANES Lanes load_f16(const std::byte* x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
MIXTURA_LANES Lanes load_bf16(const std::byte* x) {
    const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}
// Sixteen e4m3 codes, none of them NaN, in 2^-8: sign, exponent and fraction moved to where f16 has them.
MIXTURA_LANES Lanes load_finite_e4m3(const std::byte* x) {
    const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    const __m256i halves = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16(-0x4080));  // 0xBF80
    return _mm512_cvtph_ps(halves);
}
// What sixteen bytes' low halves, or high ones, stand for in a map of sixteen.
template <bool kHigh>
MIXTURA_LANES Lanes load_mapped(const std::byte* x, const float* map) {
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    return _mm512_permutexvar_ps(kHigh ? _mm512_srli_epi32(bytes, 4) : bytes, load(map));  // reads four bits of each
}
MIXTURA_LANES void store_f16(std::byte* y, Lanes x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// As f32_to_bf16: add 0x7FFF and the bit that will be last, cut; a NaN is cut and made quiet.
MIXTURA_LANES void store_bf16(std::byte* y, Lanes x) {
    const __m512i bits = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x0040'0000));
    const __m512i chosen = _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), rounded, quiet);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtepi32_epi16(_mm512_srli_epi32(chosen, 16)));
}

// The largest bits of each lane as unsigned integers: the order of magnitudes, with infinities and NaNs above all.
MIXTURA_LANES Lanes larger_bits(Lanes a, Lanes b) {
    return _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
MIXTURA_LANES std::uint32_t largest_bits(Lanes a) { return _mm512_reduce_max_epu32(_mm512_castps_si512(a)); }

// Codes of the cache at any address: sixteen int8, one f16 in every lane, sixteen e4m3 as code · 2^-8.
MIXTURA_LANES Lanes load_i8(const std::byte* x) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
}
MIXTURA_LANES Lanes broadcast_f16(const std::byte* x) {
    short bits;
    __builtin_memcpy(&bits, x, sizeof bits);
    return _mm512_cvtph_ps(_mm256_set1_epi16(bits));
}
// An e4m3's bits are an f16's whose exponent is 8 too low, NaN apart.
MIXTURA_LANES Lanes load_e4m3(const std::byte* x) {
    const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    const __m256i ones = _mm256_set1_epi16(0x7F), size = _mm256_and_si256(words, ones);
    const __m256i sign = _mm256_and_si256(words, _mm256_set1_epi16(static_cast<short>(0x8000)));
    const __m256i halves = _mm256_or_si256(_mm256_slli_epi16(size, 7), sign);
    return _mm512_cvtph_ps(
        _mm256_mask_mov_epi16(halves, _mm256_cmpeq_epi16_mask(size, ones), _mm256_set1_epi16(0x7E00)));
}
MIXTURA_LANES void store_f16_first(std::byte* y, float x) {
    const int bits = _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    __builtin_memcpy(y, &bits, 2);
}
// As f32_to_f8_e4m3 for magnitudes up to 464: 20 bits are rounded off, or below 2^-6 a sum counts in 2^-9.
MIXTURA_LANES void store_e4m3(std::byte* y, Lanes x) {
    const Lanes size = magnitude(x), count = broadcast(0x1.8p14F);
    const __m512i bits = _mm512_castps_si512(size),
                  odd = _mm512_and_si512(_mm512_srli_epi32(bits, 20), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7'FFFF)), odd);
    const __m512i normal = _mm512_sub_epi32(_mm512_srli_epi32(rounded, 20), _mm512_set1_epi32(120 << 3));
    const __m512i tiny = _mm512_sub_epi32(_mm512_castps_si512(add(size, count)), _mm512_castps_si512(count));
    const __m512i codes = _mm512_mask_blend_epi32(is_less(size, broadcast(0x1p-6F)), normal, tiny);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(_mm512_castps_si512(x), 24), _mm512_set1_epi32(0x80));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtepi32_epi8(_mm512_or_si512(codes, sign)));
}

// out[k · stride + i] = block[16 i + k].  Quarters of rows i, i + 4, i + 8, i + 12 are put together as they are loaded,
// which leaves 32 shuffles of 64.
MIXTURA_LANES void transpose(const float* block, float* out, std::int64_t stride) {
    MIXTURA_UNROLL
    for (int k = 0; k < 16; k += 4) {
        Lanes rows[4];
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const float* at = block + 16 * i + k;
            rows[i] = _mm512_castps128_ps512(_mm_loadu_ps(at));
            rows[i] = _mm512_mask_broadcast_f32x4(rows[i], 0x00F0, _mm_loadu_ps(at + 4 * 16));
            rows[i] = _mm512_mask_broadcast_f32x4(rows[i], 0x0F00, _mm_loadu_ps(at + 8 * 16));
            rows[i] = _mm512_mask_broadcast_f32x4(rows[i], 0xF000, _mm_loadu_ps(at + 12 * 16));
        }
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(rows[0], rows[1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(rows[0], rows[1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2], rows[3]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2], rows[3]));
        store(out + k * stride, _mm512_castpd_ps(_mm512_unpacklo_pd(a, c)));
        store(out + (k + 1) * stride, _mm512_castpd_ps(_mm512_unpackhi_pd(a, c)));
        store(out + (k + 2) * stride, _mm512_castpd_ps(_mm512_unpacklo_pd(b, d)));
        store(out + (k + 3) * stride, _mm512_castpd_ps(_mm512_unpackhi_pd(b, d)));
    }
}

// Pairs (x[2i], x[2i + 1]) of 32 floats as two registers, and back.
MIXTURA_LANES void load_pairs(const float* x, Lanes& even, Lanes& odd) {
    const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(1));
    const Lanes low = load(x), high = load(x + 16);
    even = _mm512_permutex2var_ps(low, first, high);
    odd = _mm512_permutex2var_ps(low, second, high);
}
MIXTURA_LANES void store_pairs(float* x, Lanes even, Lanes odd) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    store(x, _mm512_permutex2var_ps(even, low, odd));
    store(x + 16, _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd));
}

// 32 floats to an ActivationBlock's q, d and sums; see quantise_row in ref/rows_ref.cpp.
struct Quantised {
    float d;
    int sum_low, sum_high;
};
MIXTURA_LANES Quantised quantise(const float* x, float tiny, std::int8_t* q) {
    const __m512 low = load(x), high = load(x + 16);
    const __m512i sign = _mm512_set1_epi32(0x7FFF'FFFF);
    const __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(low), sign),
                                          _mm512_and_si512(_mm512_castps_si512(high), sign));
    const std::uint32_t largest = _mm512_reduce_max_epu32(bits);
    const float maximum = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(largest))));
    if (largest >= 0x7F80'0000U || maximum < tiny) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm256_setzero_si256());
        return {largest >= 0x7F80'0000U ? __builtin_nanf("") : 0.0F, 0, 0};
    }
    const __m512 inverse = _mm512_set1_ps(127.0F / maximum);
    const __m512i whole_low = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
    const __m512i whole_high = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q), _mm512_cvtepi32_epi8(whole_low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q + 16), _mm512_cvtepi32_epi8(whole_high));
    return {maximum / 127.0F, _mm512_reduce_add_epi32(whole_low), _mm512_reduce_add_epi32(whole_high)};
}

}  // namespace mixtura::avx512

#undef MIXTURA_LANES
