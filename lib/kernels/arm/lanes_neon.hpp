// Inside arm/ only: sixteen f32 lanes in four 128-bit registers, lanes 4i to 4i + 3 in part[i].  The same interface as
// lanes_avx2.hpp and lanes_avx512.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arm/isa.hpp"

#define MIXTURA_LANES MIXTURA_ALWAYS_INLINE

namespace mixtura::neon {

struct Lanes {
    float32x4_t part[4];
};
struct Mask {
    uint32x4_t part[4];  // all ones or all zeros a lane
};

// Register blocks of attention_dots_body.hpp and attention_body.hpp: thirty-two 128-bit registers, four of them a
// Lanes.
constexpr int kDotsAtOnce = 4;
constexpr int kTileQueries = 6, kTileKeyLanes = 1, kTileQueriesMin = 12;
constexpr int kQueriesAtOnce = 2, kLanesAtOnce = 2;

// f(part) of each of the four registers.
#define MIXTURA_EACH_PART(type, expression)                 \
    type out;                                               \
    MIXTURA_UNROLL                                          \
    for (int i = 0; i < 4; ++i) out.part[i] = (expression); \
    return out

MIXTURA_LANES Mask first_lanes(std::int64_t count) {
    const int32x4_t first = {0, 1, 2, 3}, end = vdupq_n_s32(static_cast<std::int32_t>(count));
    MIXTURA_EACH_PART(Mask, vcgtq_s32(end, vaddq_s32(first, vdupq_n_s32(4 * i))));
}

MIXTURA_LANES Lanes broadcast(float x) { MIXTURA_EACH_PART(Lanes, vdupq_n_f32(x)); }
MIXTURA_LANES Lanes load(const float* x) { MIXTURA_EACH_PART(Lanes, vld1q_f32(x + 4 * i)); }
MIXTURA_LANES void store(float* y, Lanes x) {
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_f32(y + 4 * i, x.part[i]);
}
// NEON has no masked access: what lies beyond the row is never touched, so a part of a register goes lane by lane.
MIXTURA_LANES Lanes load_first(const float* x, Mask lanes) {  // others 0
    alignas(16) float copy[16] = {};
    if (vgetq_lane_u32(lanes.part[3], 3) != 0) return load(x);
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        if (vgetq_lane_u32(lanes.part[i], 0) != 0) copy[4 * i] = x[4 * i];
        if (vgetq_lane_u32(lanes.part[i], 1) != 0) copy[4 * i + 1] = x[4 * i + 1];
        if (vgetq_lane_u32(lanes.part[i], 2) != 0) copy[4 * i + 2] = x[4 * i + 2];
        if (vgetq_lane_u32(lanes.part[i], 3) != 0) copy[4 * i + 3] = x[4 * i + 3];
    }
    return load(copy);
}
MIXTURA_LANES void store_first(float* y, Mask lanes, Lanes x) {
    if (vgetq_lane_u32(lanes.part[3], 3) != 0) return store(y, x);
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        if (vgetq_lane_u32(lanes.part[i], 0) != 0) vst1q_lane_f32(y + 4 * i, x.part[i], 0);
        if (vgetq_lane_u32(lanes.part[i], 1) != 0) vst1q_lane_f32(y + 4 * i + 1, x.part[i], 1);
        if (vgetq_lane_u32(lanes.part[i], 2) != 0) vst1q_lane_f32(y + 4 * i + 2, x.part[i], 2);
        if (vgetq_lane_u32(lanes.part[i], 3) != 0) vst1q_lane_f32(y + 4 * i + 3, x.part[i], 3);
    }
}

MIXTURA_LANES Lanes add(Lanes a, Lanes b) { MIXTURA_EACH_PART(Lanes, vaddq_f32(a.part[i], b.part[i])); }
MIXTURA_LANES Lanes sub(Lanes a, Lanes b) { MIXTURA_EACH_PART(Lanes, vsubq_f32(a.part[i], b.part[i])); }
MIXTURA_LANES Lanes mul(Lanes a, Lanes b) { MIXTURA_EACH_PART(Lanes, vmulq_f32(a.part[i], b.part[i])); }
MIXTURA_LANES Lanes div(Lanes a, Lanes b) { MIXTURA_EACH_PART(Lanes, vdivq_f32(a.part[i], b.part[i])); }
MIXTURA_LANES Lanes fma(Lanes a, Lanes b, Lanes c) {
    MIXTURA_EACH_PART(Lanes, vfmaq_f32(c.part[i], a.part[i], b.part[i]));
}
MIXTURA_LANES Lanes negated_fma(Lanes a, Lanes b, Lanes c) {  // c - a · b
    MIXTURA_EACH_PART(Lanes, vfmsq_f32(c.part[i], a.part[i], b.part[i]));
}
// Not vmaxq_f32, which gives NaN where one is NaN.
MIXTURA_LANES Lanes larger(Lanes a, Lanes b) {  // a > b ? a : b, so b where one is NaN
    MIXTURA_EACH_PART(Lanes, vbslq_f32(vcgtq_f32(a.part[i], b.part[i]), a.part[i], b.part[i]));
}
MIXTURA_LANES Lanes smaller(Lanes a, Lanes b) {  // a < b ? a : b
    MIXTURA_EACH_PART(Lanes, vbslq_f32(vcltq_f32(a.part[i], b.part[i]), a.part[i], b.part[i]));
}

MIXTURA_LANES Lanes negate(Lanes a) { MIXTURA_EACH_PART(Lanes, vnegq_f32(a.part[i])); }
MIXTURA_LANES Lanes magnitude(Lanes a) { MIXTURA_EACH_PART(Lanes, vabsq_f32(a.part[i])); }
MIXTURA_LANES Lanes with_sign_of(Lanes positive, Lanes sign) {
    MIXTURA_EACH_PART(Lanes, vbslq_f32(vdupq_n_u32(0x8000'0000U), sign.part[i], positive.part[i]));
}
MIXTURA_LANES Mask is_less(Lanes a, Lanes b) { MIXTURA_EACH_PART(Mask, vcltq_f32(a.part[i], b.part[i])); }
MIXTURA_LANES Lanes select(Mask mask, Lanes yes, Lanes no) {
    MIXTURA_EACH_PART(Lanes, vbslq_f32(mask.part[i], yes.part[i], no.part[i]));
}

MIXTURA_LANES float32x4_t times_power_of_two_4(float32x4_t p, float32x4_t shifted, float round) {
    const int32x4_t whole = vsubq_s32(vreinterpretq_s32_f32(shifted), vreinterpretq_s32_f32(vdupq_n_f32(round)));
    const int32x4_t half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
    const int32x4_t low = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t high = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
    return vmulq_f32(vmulq_f32(p, vreinterpretq_f32_s32(low)), vreinterpretq_f32_s32(high));
}
// p · 2^half · 2^(whole - half) for the whole number `shifted` holds above 1.5 · 2^23; see exp_f32.
MIXTURA_LANES Lanes times_power_of_two(Lanes p, Lanes shifted, float round) {
    MIXTURA_EACH_PART(Lanes, times_power_of_two_4(p.part[i], shifted.part[i], round));
}

MIXTURA_LANES float square_root(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }

// The tree 8-4-2-1 of reduce.hpp.
MIXTURA_LANES float tree_sum(Lanes a) {
    const float32x4_t four = vaddq_f32(vaddq_f32(a.part[0], a.part[2]), vaddq_f32(a.part[1], a.part[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
MIXTURA_LANES void tree_sums(const Lanes (&a)[8], float* sums) {
    MIXTURA_UNROLL
    for (int i = 0; i < 8; ++i) sums[i] = tree_sum(a[i]);
}

MIXTURA_LANES float first_lane(Lanes a) { return vgetq_lane_f32(a.part[0], 0); }
MIXTURA_LANES Lanes lane_numbers() {
    const float32x4_t first = {0, 1, 2, 3};
    MIXTURA_EACH_PART(Lanes, vaddq_f32(first, vdupq_n_f32(static_cast<float>(4 * i))));
}
// Lanes first to last - 1 of what may begin before lane 0 and end behind lane 15.
MIXTURA_LANES Mask lanes_between(std::int64_t first, std::int64_t last) {
    const Mask begin = first_lanes(first < 0 ? 0 : first > 16 ? 16 : first);
    const Mask end = first_lanes(last < 0 ? 0 : last > 16 ? 16 : last);
    MIXTURA_EACH_PART(Mask, vbicq_u32(end.part[i], begin.part[i]));
}

// The largest lane; no lane is NaN.
MIXTURA_LANES float largest_lane(Lanes a) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.part[0], a.part[1]), vmaxq_f32(a.part[2], a.part[3])));
}

MIXTURA_LANES float32x4_t f16_4(const std::byte* x) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(x))));
}
MIXTURA_LANES float32x4_t bf16_4(const std::byte* x) {
    const uint16x4_t words = vreinterpret_u16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(x)));
    return vreinterpretq_f32_u32(vshll_n_u16(words, 16));
}
// Sixteen f16 or bf16 at any address.
MIXTURA_LANES Lanes load_f16(const std::byte* x) { MIXTURA_EACH_PART(Lanes, f16_4(x + 8 * i)); }
MIXTURA_LANES Lanes load_bf16(const std::byte* x) { MIXTURA_EACH_PART(Lanes, bf16_4(x + 8 * i)); }
// Four f16 bits, widened.
MIXTURA_LANES Lanes widened(uint16x8_t low, uint16x8_t high) {
    return {{vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(low))),
             vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(low))),
             vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(high))),
             vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(high)))}};
}
// An e4m3's bits are an f16's whose exponent is 8 too low, NaN apart: with it the first, without the second.
MIXTURA_LANES uint16x8_t e4m3_as_f16(uint8x8_t codes) {
    const uint16x8_t words = vmovl_u8(codes), size = vandq_u16(words, vdupq_n_u16(0x7F));
    const uint16x8_t sign = vandq_u16(vshlq_n_u16(words, 8), vdupq_n_u16(0x8000));
    const uint16x8_t nan = vandq_u16(vceqq_u16(size, vdupq_n_u16(0x7F)), vdupq_n_u16(0x7E00));
    return vorrq_u16(vorrq_u16(vshlq_n_u16(size, 7), sign), nan);
}
MIXTURA_LANES uint16x8_t finite_e4m3_as_f16(uint8x8_t codes) {
    const uint16x8_t words = vmovl_u8(codes);
    const uint16x8_t size = vandq_u16(vshlq_n_u16(words, 7), vdupq_n_u16(0x3F80));
    return vorrq_u16(size, vandq_u16(vshlq_n_u16(words, 8), vdupq_n_u16(0x8000)));
}
// Sixteen e4m3 codes in 2^-8; the second expects none of them to be NaN.
MIXTURA_LANES Lanes load_e4m3(const std::byte* x) {
    const uint8x16_t codes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(x));
    return widened(e4m3_as_f16(vget_low_u8(codes)), e4m3_as_f16(vget_high_u8(codes)));
}
MIXTURA_LANES Lanes load_finite_e4m3(const std::byte* x) {
    const uint8x16_t codes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(x));
    return widened(finite_e4m3_as_f16(vget_low_u8(codes)), finite_e4m3_as_f16(vget_high_u8(codes)));
}
// What sixteen bytes' low halves, or high ones, stand for in a map of sixteen: its 64 bytes are one table.
template <bool kHigh>
MIXTURA_LANES Lanes load_mapped(const std::byte* x, const float* map) {
    const uint8x16_t bytes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(x));
    const uint8x16_t codes = kHigh ? vshrq_n_u8(bytes, 4) : vandq_u8(bytes, vdupq_n_u8(15));
    const auto* table = reinterpret_cast<const std::uint8_t*>(map);
    const uint8x16x4_t all = {{vld1q_u8(table), vld1q_u8(table + 16), vld1q_u8(table + 32), vld1q_u8(table + 48)}};
    // Byte j of an entry is at 4 · code + j: each code four times over, a quarter of the codes at a time.
    const uint8x16_t first = vshlq_n_u8(codes, 2);
    const uint8x16x2_t twice = {{vzip1q_u8(first, first), vzip2q_u8(first, first)}};
    const uint8x16_t within = vreinterpretq_u8_u32(vdupq_n_u32(0x0302'0100));
    Lanes out;
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        const uint16x8_t pairs = vreinterpretq_u16_u8(twice.val[i / 2]);
        const uint8x16_t four = vreinterpretq_u8_u16(i % 2 == 0 ? vzip1q_u16(pairs, pairs) : vzip2q_u16(pairs, pairs));
        out.part[i] = vreinterpretq_f32_u8(vqtbl4q_u8(all, vaddq_u8(four, within)));
    }
    return out;
}
// The largest bits of each lane as unsigned integers: the order of magnitudes, with infinities and NaNs above all.
MIXTURA_LANES Lanes larger_bits(Lanes a, Lanes b) {
    MIXTURA_EACH_PART(
        Lanes, vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a.part[i]), vreinterpretq_u32_f32(b.part[i]))));
}
MIXTURA_LANES std::uint32_t largest_bits(Lanes a) {
    const Lanes two =
        larger_bits({{a.part[0], a.part[1], a.part[0], a.part[1]}}, {{a.part[2], a.part[3], a.part[2], a.part[3]}});
    return vmaxvq_u32(vmaxq_u32(vreinterpretq_u32_f32(two.part[0]), vreinterpretq_u32_f32(two.part[1])));
}
// Codes of the cache at any address: sixteen int8, one f16 in every lane.
MIXTURA_LANES Lanes load_i8(const std::byte* x) {
    const int8x16_t codes = vld1q_s8(reinterpret_cast<const std::int8_t*>(x));
    const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_s8(vget_high_s8(codes));
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}
MIXTURA_LANES Lanes broadcast_f16(const std::byte* x) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, x, sizeof bits);
    const float32x4_t four = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits)));
    return {{four, four, four, four}};
}
MIXTURA_LANES void store_f16_first(std::byte* y, float x) {
    const std::uint16_t bits = vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x))), 0);
    __builtin_memcpy(y, &bits, sizeof bits);
}
// As f32_to_f8_e4m3 for magnitudes up to 464: 20 bits are rounded off, or below 2^-6 a sum counts in 2^-9.
MIXTURA_LANES uint32x4_t e4m3_codes(float32x4_t x) {
    const float32x4_t size = vabsq_f32(x), count = vdupq_n_f32(0x1.8p14F);
    const uint32x4_t bits = vreinterpretq_u32_f32(size), odd = vandq_u32(vshrq_n_u32(bits, 20), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7'FFFF)), odd);
    const uint32x4_t normal = vsubq_u32(vshrq_n_u32(rounded, 20), vdupq_n_u32(120 << 3));
    const uint32x4_t tiny = vsubq_u32(vreinterpretq_u32_f32(vaddq_f32(size, count)), vreinterpretq_u32_f32(count));
    const uint32x4_t sign = vandq_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 24), vdupq_n_u32(0x80));
    return vorrq_u32(vbslq_u32(vcltq_f32(size, vdupq_n_f32(0x1p-6F)), tiny, normal), sign);
}
MIXTURA_LANES void store_e4m3(std::byte* y, Lanes x) {
    const uint16x8_t low = vcombine_u16(vmovn_u32(e4m3_codes(x.part[0])), vmovn_u32(e4m3_codes(x.part[1])));
    const uint16x8_t high = vcombine_u16(vmovn_u32(e4m3_codes(x.part[2])), vmovn_u32(e4m3_codes(x.part[3])));
    vst1q_u8(reinterpret_cast<std::uint8_t*>(y), vcombine_u8(vmovn_u16(low), vmovn_u16(high)));
}
MIXTURA_LANES void store_f16(std::byte* y, Lanes x) {
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i)
        vst1_u8(reinterpret_cast<std::uint8_t*>(y + 8 * i), vreinterpret_u8_f16(vcvt_f16_f32(x.part[i])));
}
// As f32_to_bf16: add 0x7FFF and the bit that will be last, cut; a NaN is cut and made quiet.
MIXTURA_LANES void store_bf16(std::byte* y, Lanes x) {
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        const uint32x4_t bits = vreinterpretq_u32_f32(x.part[i]);
        const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
        const uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd);
        const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x0040'0000));
        const uint32x4_t is_number = vceqq_f32(x.part[i], x.part[i]);
        const uint16x4_t words = vshrn_n_u32(vbslq_u32(is_number, rounded, quiet), 16);
        vst1_u8(reinterpret_cast<std::uint8_t*>(y + 8 * i), vreinterpret_u8_u16(words));
    }
}

// out[k · stride + i] = block[16 i + k], four by four.
MIXTURA_LANES void transpose(const float* block, float* out, std::int64_t stride) {
    MIXTURA_UNROLL
    for (int k = 0; k < 16; k += 4) {
        MIXTURA_UNROLL
        for (int row = 0; row < 16; row += 4) {
            const float* at = block + 16 * row + k;
            const float32x4_t a = vld1q_f32(at), b = vld1q_f32(at + 16), c = vld1q_f32(at + 32), d = vld1q_f32(at + 48);
            const float32x4_t ab_even = vtrn1q_f32(a, b), ab_odd = vtrn2q_f32(a, b);
            const float32x4_t cd_even = vtrn1q_f32(c, d), cd_odd = vtrn2q_f32(c, d);
            float* to = out + k * stride + row;
            vst1q_f32(to, vcombine_f32(vget_low_f32(ab_even), vget_low_f32(cd_even)));
            vst1q_f32(to + stride, vcombine_f32(vget_low_f32(ab_odd), vget_low_f32(cd_odd)));
            vst1q_f32(to + 2 * stride, vcombine_f32(vget_high_f32(ab_even), vget_high_f32(cd_even)));
            vst1q_f32(to + 3 * stride, vcombine_f32(vget_high_f32(ab_odd), vget_high_f32(cd_odd)));
        }
    }
}

// Pairs (x[2i], x[2i + 1]) of 32 floats as two sets of lanes, and back.
MIXTURA_LANES void load_pairs(const float* x, Lanes& even, Lanes& odd) {
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        const float32x4x2_t pairs = vld2q_f32(x + 8 * i);
        even.part[i] = pairs.val[0];
        odd.part[i] = pairs.val[1];
    }
}
MIXTURA_LANES void store_pairs(float* x, Lanes even, Lanes odd) {
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        const float32x4x2_t pairs = {{even.part[i], odd.part[i]}};
        vst2q_f32(x + 8 * i, pairs);
    }
}

// 32 floats to an ActivationBlock's q, d and sums; see quantise_row in ref/rows_ref.cpp.
struct Quantised {
    float d;
    int sum_low, sum_high;
};
MIXTURA_LANES Quantised quantise(const float* x, float tiny, std::int8_t* q) {
    float32x4_t part[8];
    uint32x4_t bits = vdupq_n_u32(0);
    MIXTURA_UNROLL
    for (int i = 0; i < 8; ++i) {
        part[i] = vld1q_f32(x + 4 * i);
        bits = vmaxq_u32(bits, vreinterpretq_u32_f32(vabsq_f32(part[i])));
    }
    const std::uint32_t largest = vmaxvq_u32(bits);
    const float maximum = vget_lane_f32(vreinterpret_f32_u32(vdup_n_u32(largest)), 0);
    if (largest >= 0x7F80'0000U || maximum < tiny) {
        vst1q_s8(q, vdupq_n_s8(0));
        vst1q_s8(q + 16, vdupq_n_s8(0));
        return {largest >= 0x7F80'0000U ? __builtin_nanf("") : 0.0F, 0, 0};
    }
    const float32x4_t inverse = vdupq_n_f32(127.0F / maximum);
    int32x4_t whole[8];
    MIXTURA_UNROLL
    for (int i = 0; i < 8; ++i) whole[i] = vcvtnq_s32_f32(vmulq_f32(part[i], inverse));
    int sums[2];
    MIXTURA_UNROLL
    for (int half = 0; half < 2; ++half) {
        const int32x4_t* four = whole + 4 * half;
        const int16x8_t low = vcombine_s16(vmovn_s32(four[0]), vmovn_s32(four[1]));
        const int16x8_t high = vcombine_s16(vmovn_s32(four[2]), vmovn_s32(four[3]));
        vst1q_s8(q + 16 * half, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        sums[half] = vaddvq_s32(vaddq_s32(vaddq_s32(four[0], four[1]), vaddq_s32(four[2], four[3])));
    }
    return {maximum / 127.0F, sums[0], sums[1]};
}

}  // namespace mixtura::neon

#undef MIXTURA_EACH_PART
#undef MIXTURA_LANES
