// Inside x86/ only: how integer panels are read on 512-bit registers and how a group's sum joins an output; what the
// tiles of AVX-512 VNNI and of AMX share, which differ in how they come to the sums.
#pragma once

#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/isa.hpp"

#define MIXTURA_TILE MIXTURA_TARGET_AVX512_VNNI MIXTURA_ALWAYS_INLINE

namespace mixtura::avx512 {

using detail::kFormat;
using detail::kHasOffset;
using detail::kLift;
using detail::kPanel;
using detail::kTwoGroups;

MIXTURA_TILE __m512i load_64(const std::byte* at) { return _mm512_loadu_si512(at); }
MIXTURA_TILE __m128i load_16(const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

MIXTURA_TILE __m512 f16_lanes(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}
MIXTURA_TILE __m512 unsigned_lanes(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)); }
MIXTURA_TILE __m512 signed_lanes(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }

// 2^(e - 128), as f8_e8m0_half_to_f32.
MIXTURA_TILE __m512 exponent_lanes(const std::byte* at) {
    const __m512i e = _mm512_cvtepu8_epi32(load_16(at));
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    const __m512i subnormal = _mm512_sllv_epi32(_mm512_set1_epi32(0x0020'0000), e);
    return _mm512_castsi512_ps(
        _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)), normal, subnormal));
}

template <int kShift>
MIXTURA_TILE __m512i shifted(__m512i vector) {
    if constexpr (kShift > 0) return _mm512_slli_epi16(vector, kShift);
    if constexpr (kShift < 0) return _mm512_srli_epi16(vector, -kShift);
    return vector;
}
// Bytes shifted left by kShift, or right where it is negative; kMask drops what crosses from one byte into the next.
template <int kShift, int kMask>
MIXTURA_TILE __m512i bits_of(__m512i vector) {
    return _mm512_and_si512(shifted<kShift>(vector), _mm512_set1_epi8(static_cast<char>(kMask)));
}
template <int kShift, int kMask>
MIXTURA_TILE __m512i with_bits(__m512i low, __m512i vector) {
    // (a & b) | c
    return _mm512_ternarylogic_epi32(shifted<kShift>(vector), _mm512_set1_epi8(static_cast<char>(kMask)), low, 0xEA);
}

// 128 - z in each of a row's four bytes.
template <DType kDType>
MIXTURA_TILE __m512i zero_shift(const std::byte* zeros) {
    if constexpr (!kFormat<kDType>.has_zero_points) return _mm512_setzero_si512();
    const __m512i z = _mm512_mullo_epi32(_mm512_cvtepu8_epi32(load_16(zeros)), _mm512_set1_epi32(0x0101'0101));
    return _mm512_sub_epi8(_mm512_set1_epi8(-128), z);
}

// Of a unit: d / 2^kLift, dmin, and what zero_shift makes of its zero points.
template <DType kDType>
MIXTURA_TILE void read_header(const std::byte* unit, __m512& d, __m512& dmin, __m512i& zeros) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    d = kF.has_exponent_scale ? exponent_lanes(unit) : f16_lanes(unit);
    if constexpr (kLift<kDType> != 0) d = _mm512_mul_ps(d, _mm512_set1_ps(1.0F / (1 << kLift<kDType>)));
    dmin = kF.has_minimum ? f16_lanes(unit + kPanel<kDType>.minimum_bytes) : d;
    zeros = zero_shift<kDType>(unit + kPanel<kDType>.zero_bytes);
}

// layout.hpp says where the bits are.
template <DType kDType>
MIXTURA_TILE void unpack(const std::byte* codes, __m512i zeros, __m512i (&u)[8]) {
    constexpr int kBits = kFormat<kDType>.code_bits, kUp = kLift<kDType>;
    if constexpr (kBits == 8) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = load_64(codes + 64 * i);
    } else if constexpr (kBits == 2 || kBits == 3) {
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const __m512i v = load_64(codes + 64 * h);
            u[4 * h] = bits_of<kUp, 3 << kUp>(v);
            u[4 * h + 1] = bits_of<kUp - 2, 3 << kUp>(v);
            u[4 * h + 2] = bits_of<kUp - 4, 3 << kUp>(v);
            u[4 * h + 3] = bits_of<kUp - 6, 3 << kUp>(v);
        }
    } else {
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const __m512i v = load_64(codes + 64 * i);
            u[i] = bits_of<kUp, 15 << kUp>(v);
            u[4 + i] = bits_of<kUp - 4, 15 << kUp>(v);
        }
    }
    if constexpr (kBits == 3 || kBits == 5) {
        constexpr int kPlace = kBits - 1, kTo = kPlace + kUp, kBit = 1 << kTo;
        const __m512i v = load_64(codes + 64 * kPlace);
        u[0] = with_bits<kTo, kBit>(u[0], v);
        u[1] = with_bits<kTo - 1, kBit>(u[1], v);
        u[2] = with_bits<kTo - 2, kBit>(u[2], v);
        u[3] = with_bits<kTo - 3, kBit>(u[3], v);
        u[4] = with_bits<kTo - 4, kBit>(u[4], v);
        u[5] = with_bits<kTo - 5, kBit>(u[5], v);
        u[6] = with_bits<kTo - 6, kBit>(u[6], v);
        u[7] = with_bits<kTo - 7, kBit>(u[7], v);
    }
    if constexpr (kBits == 6) {
        constexpr int kTo = 4 + kUp, kPair = 3 << kTo;
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const __m512i v = load_64(codes + 64 * (4 + h));
            u[4 * h] = with_bits<kTo, kPair>(u[4 * h], v);
            u[4 * h + 1] = with_bits<kTo - 2, kPair>(u[4 * h + 1], v);
            u[4 * h + 2] = with_bits<kTo - 4, kPair>(u[4 * h + 2], v);
            u[4 * h + 3] = with_bits<kTo - 6, kPair>(u[4 * h + 3], v);
        }
    }
    if constexpr (kFormat<kDType>.steps != nullptr) {
        const __m512i steps =
            _mm512_broadcast_i32x4(load_16(reinterpret_cast<const std::byte*>(detail::kStepTable<kDType>.bytes)));
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm512_shuffle_epi8(steps, u[i]);
    }
    if constexpr (kFormat<kDType>.has_zero_points) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm512_add_epi8(u[i], zeros);
    }
}

// s / 2^kLift (in `d` already), -kSumBase · s / 2^kLift, and m of the groups of 32 columns; m with the sign the file
// has (q4_1, q5_1: minus the formula's).
struct Scales {
    __m512 scale[2], base[2], minimum[2];
};
template <DType kDType>
MIXTURA_TILE void read_scales(__m512 d, __m512 dmin, const std::byte* group_codes, Scales& s) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    if constexpr (!kF.has_group_codes) {
        s.scale[0] = d;
        s.minimum[0] = dmin;
    } else if constexpr (kTwoGroups<kDType> && kF.has_minimum) {
        const __m128i fifteen = _mm_set1_epi8(15);
        MIXTURA_UNROLL
        for (int j = 0; j < 2; ++j) {
            const __m128i both = load_16(group_codes + 16 * j);
            s.scale[j] = _mm512_mul_ps(d, unsigned_lanes(_mm_and_si128(both, fifteen)));
            s.minimum[j] = _mm512_mul_ps(dmin, unsigned_lanes(_mm_and_si128(_mm_srli_epi16(both, 4), fifteen)));
        }
    } else {
        s.scale[0] = _mm512_mul_ps(d, signed_lanes(load_16(group_codes)));
        if constexpr (kTwoGroups<kDType>) s.scale[1] = _mm512_mul_ps(d, signed_lanes(load_16(group_codes + 16)));
        if constexpr (kF.has_minimum) s.minimum[0] = _mm512_mul_ps(dmin, unsigned_lanes(load_16(group_codes + 16)));
    }
}

template <DType kDType>
MIXTURA_TILE void set_bases(Scales& s) {
    s.base[0] = _mm512_mul_ps(_mm512_set1_ps(-kSumBase), s.scale[0]);
    if constexpr (kTwoGroups<kDType>) s.base[1] = _mm512_mul_ps(_mm512_set1_ps(-kSumBase), s.scale[1]);
}

// What the sum of a group starts at: kSumBase as an integer, less what the offset adds.
template <DType kDType>
MIXTURA_TILE __m512i start_of(const std::int32_t& start) {
    return _mm512_set1_epi32(kHasOffset<kDType> ? start : kSumBaseBits);
}

// add_group of ref/, 16 rows at once.
template <DType kDType, int kGroup>
MIXTURA_TILE __m512 add_group(__m512i sum, const Scales& s, float d, float scaled_sum, __m512 y) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    __m512 term;
    if constexpr (kF.has_exponent_scale) {
        term = _mm512_mul_ps(_mm512_sub_ps(_mm512_castsi512_ps(sum), _mm512_set1_ps(kSumBase)), s.scale[kGroup]);
    } else {
        term = _mm512_fmadd_ps(_mm512_castsi512_ps(sum), s.scale[kGroup], s.base[kGroup]);
    }
    y = _mm512_fmadd_ps(term, _mm512_set1_ps(d), y);
    if constexpr (!kF.has_minimum) return y;
    if constexpr (kF.has_group_codes) return _mm512_fnmadd_ps(s.minimum[kGroup], _mm512_set1_ps(scaled_sum), y);
    return _mm512_fmadd_ps(s.minimum[kGroup], _mm512_set1_ps(scaled_sum), y);
}

}  // namespace mixtura::avx512
