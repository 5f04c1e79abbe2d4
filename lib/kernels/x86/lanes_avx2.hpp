// Inside x86/ only: sixteen f32 lanes in two 256-bit registers, lanes 0 to 7 in `low`.  lanes_avx512.hpp has the same
// interface; rows_body.hpp and attention_body.hpp are written once against it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/x86/isa.hpp"

#define MIXTURA_LANES MIXTURA_TARGET_AVX2 MIXTURA_ALWAYS_INLINE

namespace mixtura::avx2 {

struct Lanes {
    __m256 low, high;
};
struct Mask {
    __m256i low, high;  // all ones or all zeros a lane
};

// Register blocks of attention_dots_body.hpp and attention_body.hpp: sixteen 256-bit registers.
constexpr int kDotsAtOnce = 4;
constexpr int kTileQueries = 6, kTileKeyLanes = 1, kTileQueriesMin = 12;
constexpr int kQueriesAtOnce = 2, kLanesAtOnce = 2;

MIXTURA_LANES Mask first_lanes(std::int64_t count) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), end = _mm256_set1_epi32(static_cast<int>(count));
    return {_mm256_cmpgt_epi32(end, index), _mm256_cmpgt_epi32(end, _mm256_add_epi32(index, _mm256_set1_epi32(8)))};
}

MIXTURA_LANES Lanes broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
MIXTURA_LANES Lanes load(const float* x) { return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)}; }
MIXTURA_LANES Lanes load_first(const float* x, Mask lanes) {
    return {_mm256_maskload_ps(x, lanes.low), _mm256_maskload_ps(x + 8, lanes.high)};  // others 0
}
MIXTURA_LANES void store(float* y, Lanes x) {
    _mm256_storeu_ps(y, x.low);
    _mm256_storeu_ps(y + 8, x.high);
}
MIXTURA_LANES void store_first(float* y, Mask lanes, Lanes x) {
    _mm256_maskstore_ps(y, lanes.low, x.low);
    _mm256_maskstore_ps(y + 8, lanes.high, x.high);
}

MIXTURA_LANES Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
MIXTURA_LANES Lanes sub(Lanes a, Lanes b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
MIXTURA_LANES Lanes mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
MIXTURA_LANES Lanes div(Lanes a, Lanes b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
MIXTURA_LANES Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
MIXTURA_LANES Lanes negated_fma(Lanes a, Lanes b, Lanes c) {  // c - a · b
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
}
MIXTURA_LANES Lanes larger(Lanes a, Lanes b) {  // a > b ? a : b, so b where one is NaN
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
MIXTURA_LANES Lanes smaller(Lanes a, Lanes b) {  // a < b ? a : b
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}

MIXTURA_LANES Lanes negate(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
MIXTURA_LANES Lanes magnitude(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
MIXTURA_LANES Lanes with_sign_of(Lanes positive, Lanes sign) {
    const __m256 bit = _mm256_set1_ps(-0.0F);
    const Lanes size = magnitude(positive);
    return {_mm256_or_ps(size.low, _mm256_and_ps(sign.low, bit)),
            _mm256_or_ps(size.high, _mm256_and_ps(sign.high, bit))};
}
MIXTURA_LANES Mask is_less(Lanes a, Lanes b) {
    return {_mm256_castps_si256(_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
            _mm256_castps_si256(_mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
MIXTURA_LANES Lanes select(Mask mask, Lanes yes, Lanes no) {
    return {_mm256_blendv_ps(no.low, yes.low, _mm256_castsi256_ps(mask.low)),
            _mm256_blendv_ps(no.high, yes.high, _mm256_castsi256_ps(mask.high))};
}

MIXTURA_LANES __m256 times_power_of_two_8(__m256 p, __m256 shifted, float round) {
    const __m256i whole = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(_mm256_set1_ps(round)));
    const __m256i half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
    const __m256i low = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i high = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(low)), _mm256_castsi256_ps(high));
}
// p · 2^half · 2^(whole - half) for the whole number `shifted` holds above 1.5 · 2^23; see exp_f32.
MIXTURA_LANES Lanes times_power_of_two(Lanes p, Lanes shifted, float round) {
    return {times_power_of_two_8(p.low, shifted.low, round), times_power_of_two_8(p.high, shifted.high, round)};
}

MIXTURA_LANES float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

// The tree 8-4-2-1 of reduce.hpp.
MIXTURA_LANES float tree_sum(Lanes a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Eight trees at once: each step halves the width and packs two registers' sums into one.
MIXTURA_LANES void tree_sums(const Lanes (&a)[8], float* sums) {
    __m256 b[4], c[2];
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {  // four lanes a sum
        const __m256 first = _mm256_add_ps(a[2 * i].low, a[2 * i].high);
        const __m256 second = _mm256_add_ps(a[2 * i + 1].low, a[2 * i + 1].high);
        b[i] = _mm256_add_ps(_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31));
    }
    MIXTURA_UNROLL
    for (int i = 0; i < 2; ++i) {  // two lanes a sum
        c[i] = _mm256_add_ps(_mm256_shuffle_ps(b[2 * i], b[2 * i + 1], 0x44),
                             _mm256_shuffle_ps(b[2 * i], b[2 * i + 1], 0xEE));
    }
    const __m256 one = _mm256_add_ps(_mm256_shuffle_ps(c[0], c[1], 0x88), _mm256_shuffle_ps(c[0], c[1], 0xDD));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_ps(sums, _mm256_permutevar8x32_ps(one, order));
}

MIXTURA_LANES float first_lane(Lanes a) { return _mm256_cvtss_f32(a.low); }
MIXTURA_LANES Lanes lane_numbers() {
    return {_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15)};
}
// Lanes first to last - 1 of what may begin before lane 0 and end behind lane 15.
MIXTURA_LANES Mask lanes_between(std::int64_t first, std::int64_t last) {
    const Mask begin = first_lanes(first < 0 ? 0 : first > 16 ? 16 : first);
    const Mask end = first_lanes(last < 0 ? 0 : last > 16 ? 16 : last);
    return {_mm256_andnot_si256(begin.low, end.low), _mm256_andnot_si256(begin.high, end.high)};
}

// The largest lane; no lane is NaN.
MIXTURA_LANES float largest_lane(Lanes a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

MIXTURA_LANES __m256 f16_8(const std::byte* x) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
MIXTURA_LANES __m256 bf16_8(const std::byte* x) {
    const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
}
// Sixteen f16 or bf16 at any address.
MIXTURA_LANES Lanes load_f16(const std::byte* x) { return {f16_8(x), f16_8(x + 16)}; }
MIXTURA_LANES Lanes load_bf16(const std::byte* x) { return {bf16_8(x), bf16_8(x + 16)}; }
// Sixteen e4m3 codes, none of them NaN, in 2^-8: sign, exponent and fraction moved to where f16 has them.
MIXTURA_LANES Lanes load_finite_e4m3(const std::byte* x) {
    const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    const __m256i halves = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16(-0x4080));  // 0xBF80
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}
// What sixteen bytes' low halves, or high ones, stand for in a map of sixteen.
template <bool kHigh>
MIXTURA_LANES __m256 mapped_8(const std::byte* x, const float* map) {
    const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
    const __m256i codes = kHigh ? _mm256_srli_epi32(bytes, 4) : bytes;  // a permutation reads three bits of each
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map), codes);
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(map + 8), codes);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));  // by the fourth
}
template <bool kHigh>
MIXTURA_LANES Lanes load_mapped(const std::byte* x, const float* map) {
    return {mapped_8<kHigh>(x, map), mapped_8<kHigh>(x + 8, map)};
}
MIXTURA_LANES void store_f16(std::byte* y, Lanes x) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(x.low, kNearest));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 16), _mm256_cvtps_ph(x.high, kNearest));
}
// As f32_to_bf16: add 0x7FFF and the bit that will be last, cut; a NaN is cut and made quiet.
MIXTURA_LANES __m256i bf16_words(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040'0000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
}
MIXTURA_LANES void store_bf16(std::byte* y, Lanes x) {
    const __m256i words = _mm256_packus_epi32(bf16_words(x.low), bf16_words(x.high));  // halves of 128 bits interleaved
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_permute4x64_epi64(words, 0xD8));
}

// The largest bits of each lane as unsigned integers: the order of magnitudes, with infinities and NaNs above all.
MIXTURA_LANES Lanes larger_bits(Lanes a, Lanes b) {
    return {_mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a.low), _mm256_castps_si256(b.low))),
            _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a.high), _mm256_castps_si256(b.high)))};
}
MIXTURA_LANES std::uint32_t largest_bits_8(__m256i bits) {
    const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    const __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 1))));
}
MIXTURA_LANES std::uint32_t largest_bits(Lanes a) {
    return largest_bits_8(_mm256_max_epu32(_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)));
}

// Codes of the cache at any address: sixteen int8, one f16 in every lane, sixteen e4m3 as code · 2^-8.
MIXTURA_LANES Lanes load_i8(const std::byte* x) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)))};
}
MIXTURA_LANES Lanes broadcast_f16(const std::byte* x) {
    short bits;
    __builtin_memcpy(&bits, x, sizeof bits);
    const __m256 all = _mm256_cvtph_ps(_mm_set1_epi16(bits));
    return {all, all};
}
// An e4m3's bits are an f16's whose exponent is 8 too low, NaN apart.
MIXTURA_LANES Lanes load_e4m3(const std::byte* x) {
    const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    const __m256i ones = _mm256_set1_epi16(0x7F), size = _mm256_and_si256(words, ones);
    const __m256i nan = _mm256_and_si256(_mm256_cmpeq_epi16(size, ones), _mm256_set1_epi16(0x7E00));
    const __m256i sign = _mm256_and_si256(words, _mm256_set1_epi16(static_cast<short>(0x8000)));
    const __m256i halves = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(size, 7), sign), nan);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}
MIXTURA_LANES void store_f16_first(std::byte* y, float x) {
    const int bits = _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    __builtin_memcpy(y, &bits, 2);
}
// As f32_to_f8_e4m3 for magnitudes up to 464: 20 bits are rounded off, or below 2^-6 a sum counts in 2^-9.
MIXTURA_LANES __m256i e4m3_words(__m256 x) {
    const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x), count = _mm256_set1_ps(0x1.8p14F);
    const __m256i bits = _mm256_castps_si256(size),
                  odd = _mm256_and_si256(_mm256_srli_epi32(bits, 20), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7'FFFF)), odd);
    const __m256i normal = _mm256_sub_epi32(_mm256_srli_epi32(rounded, 20), _mm256_set1_epi32(120 << 3));
    const __m256i tiny = _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(size, count)), _mm256_castps_si256(count));
    const __m256i is_tiny = _mm256_castps_si256(_mm256_cmp_ps(size, _mm256_set1_ps(0x1p-6F), _CMP_LT_OQ));
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(x), 24), _mm256_set1_epi32(0x80));
    return _mm256_or_si256(_mm256_blendv_epi8(normal, tiny, is_tiny), sign);
}
MIXTURA_LANES void store_e4m3(std::byte* y, Lanes x) {
    const __m256i mixed = _mm256_packus_epi32(e4m3_words(x.low), e4m3_words(x.high));  // halves of 128 bits interleaved
    const __m256i words = _mm256_permute4x64_epi64(mixed, 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                     _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

MIXTURA_LANES __m256 two_quarters(const float* low, const float* high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
// out[k · stride + i] = block[16 i + k].  Quarters of rows i and i + 4 are put together as they are loaded.
MIXTURA_LANES void transpose(const float* block, float* out, std::int64_t stride) {
    MIXTURA_UNROLL
    for (int k = 0; k < 16; k += 4) {
        MIXTURA_UNROLL
        for (int half = 0; half < 16; half += 8) {
            __m256 rows[4];
            MIXTURA_UNROLL
            for (int i = 0; i < 4; ++i) {
                const float* at = block + 16 * (half + i) + k;
                rows[i] = two_quarters(at, at + 4 * 16);
            }
            const __m256 a = _mm256_unpacklo_ps(rows[0], rows[1]), b = _mm256_unpackhi_ps(rows[0], rows[1]);
            const __m256 c = _mm256_unpacklo_ps(rows[2], rows[3]), d = _mm256_unpackhi_ps(rows[2], rows[3]);
            _mm256_storeu_ps(out + k * stride + half, _mm256_shuffle_ps(a, c, 0x44));
            _mm256_storeu_ps(out + (k + 1) * stride + half, _mm256_shuffle_ps(a, c, 0xEE));
            _mm256_storeu_ps(out + (k + 2) * stride + half, _mm256_shuffle_ps(b, d, 0x44));
            _mm256_storeu_ps(out + (k + 3) * stride + half, _mm256_shuffle_ps(b, d, 0xEE));
        }
    }
}

MIXTURA_LANES void load_pairs_8(const float* x, __m256& even, __m256& odd) {
    const __m256 low = _mm256_loadu_ps(x), high = _mm256_loadu_ps(x + 8);
    const __m256 evens = _mm256_shuffle_ps(low, high, 0x88), odds = _mm256_shuffle_ps(low, high, 0xDD);
    even = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(evens), 0xD8));
    odd = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odds), 0xD8));
}
MIXTURA_LANES void store_pairs_8(float* x, __m256 even, __m256 odd) {
    const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    _mm256_storeu_ps(x, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(x + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
// Pairs (x[2i], x[2i + 1]) of 32 floats as two sets of lanes, and back.
MIXTURA_LANES void load_pairs(const float* x, Lanes& even, Lanes& odd) {
    load_pairs_8(x, even.low, odd.low);
    load_pairs_8(x + 16, even.high, odd.high);
}
MIXTURA_LANES void store_pairs(float* x, Lanes even, Lanes odd) {
    store_pairs_8(x, even.low, odd.low);
    store_pairs_8(x + 16, even.high, odd.high);
}

MIXTURA_LANES int sum_epi32(__m256i a) {
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

// 32 floats to an ActivationBlock's q, d and sums; see quantise_row in ref/rows_ref.cpp.
struct Quantised {
    float d;
    int sum_low, sum_high;
};
MIXTURA_LANES Quantised quantise(const float* x, float tiny, std::int8_t* q) {
    const __m256i sign = _mm256_set1_epi32(0x7FFF'FFFF);
    __m256 part[4];
    __m256i bits = _mm256_setzero_si256();
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        part[i] = _mm256_loadu_ps(x + 8 * i);
        bits = _mm256_max_epu32(bits, _mm256_and_si256(_mm256_castps_si256(part[i]), sign));
    }
    const std::uint32_t largest = largest_bits_8(bits);
    const float maximum = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(largest))));
    if (largest >= 0x7F80'0000U || maximum < tiny) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm256_setzero_si256());
        return {largest >= 0x7F80'0000U ? __builtin_nanf("") : 0.0F, 0, 0};
    }
    const __m256 inverse = _mm256_set1_ps(127.0F / maximum);
    __m256i whole[4];
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(part[i], inverse));
    // Packing works within halves of 128 bits: the 4-byte groups come out as 0 2 4 6 1 3 5 7.
    const __m256i words_low = _mm256_packs_epi32(whole[0], whole[1]),
                  words_high = _mm256_packs_epi32(whole[2], whole[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words_low, words_high), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), bytes);
    return {maximum / 127.0F, sum_epi32(_mm256_add_epi32(whole[0], whole[1])),
            sum_epi32(_mm256_add_epi32(whole[2], whole[3]))};
}

}  // namespace mixtura::avx2

#undef MIXTURA_LANES
