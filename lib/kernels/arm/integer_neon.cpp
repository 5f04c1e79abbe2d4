// Products of integer formats by the dot products of Armv8.2: 8 rows x up to 4 tokens a tile, a panel's two halves one
// after the other.  The order is that of README.md, "The product of integer formats"; weights go with their sign where
// that costs nothing (8-bit codes, looked-up values), else as unsigned codes whose offset is part of the start of the
// sum: kSumBase - offset · Σ q, which the block's own start holds times 128 / offset.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/lanes_neon.hpp"
#include "kernels/lanes/tiles.hpp"

#define MIXTURA_TILE MIXTURA_TARGET_DOTPROD MIXTURA_ALWAYS_INLINE

namespace mixtura::neon {
namespace {

using detail::kFormat;
using detail::kLift;
using detail::kPanel;
using detail::kTwoGroups;

constexpr int kTokensMax = 4;  // 8 chains, 16 registers of weights, 2 sums, 2 activations: 28 of 32

// Four rows' numbers twice: what 8 rows of a panel have.
struct Eight {
    float32x4_t part[2];
};

MIXTURA_TILE uint8x16_t load_16(const std::byte* at) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(at)); }
MIXTURA_TILE uint8x8_t load_8(const std::byte* at) { return vld1_u8(reinterpret_cast<const std::uint8_t*>(at)); }
MIXTURA_TILE Eight unsigned_eight(uint8x8_t bytes) {
    const uint16x8_t words = vmovl_u8(bytes);
    return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(words))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(words)))}};
}
MIXTURA_TILE Eight signed_eight(uint8x8_t bytes) {
    const int16x8_t words = vmovl_s8(vreinterpret_s8_u8(bytes));
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(words)))}};
}
MIXTURA_TILE Eight f16_eight(const std::byte* at) { return {{f16_4(at), f16_4(at + 8)}}; }

// 2^(e - 128), as f8_e8m0_half_to_f32.
MIXTURA_TILE float32x4_t power_of_two(uint32x4_t e) {
    const uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
    const uint32x4_t subnormal = vshlq_u32(vdupq_n_u32(0x0020'0000), vreinterpretq_s32_u32(e));
    return vreinterpretq_f32_u32(vbslq_u32(vcltq_u32(e, vdupq_n_u32(2)), subnormal, normal));
}
MIXTURA_TILE Eight exponent_eight(const std::byte* at) {
    const uint16x8_t words = vmovl_u8(load_8(at));
    return {{power_of_two(vmovl_u16(vget_low_u16(words))), power_of_two(vmovl_u16(vget_high_u16(words)))}};
}
MIXTURA_TILE Eight times(Eight a, Eight b) {
    return {{vmulq_f32(a.part[0], b.part[0]), vmulq_f32(a.part[1], b.part[1])}};
}

// kMask's bits of bytes shifted left by `by`, or right where it is negative.
MIXTURA_TILE uint8x16_t bits_of(uint8x16_t bytes, int by, int mask) {
    return vandq_u8(vshlq_u8(bytes, vdupq_n_s8(static_cast<std::int8_t>(by))),
                    vdupq_n_u8(static_cast<std::uint8_t>(mask)));
}

// Four rows' codes as the numbers they are multiplied as; layout.hpp says where the bits are.
template <DType kDType>
MIXTURA_TILE void unpack(const std::byte* codes, uint8x16_t zeros, int8x16_t (&w)[8]) {
    constexpr int kBits = kFormat<kDType>.code_bits;
    uint8x16_t u[8];
    if constexpr (kBits == 8) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = veorq_u8(load_16(codes + 64 * i), vdupq_n_u8(0x80));  // q + 128 as q
    } else if constexpr (kBits == 2 || kBits == 3) {
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const uint8x16_t v = load_16(codes + 64 * h);
            MIXTURA_UNROLL
            for (int j = 0; j < 4; ++j) u[4 * h + j] = bits_of(v, -2 * j, 3);
        }
    } else {
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint8x16_t v = load_16(codes + 64 * i);
            u[i] = vandq_u8(v, vdupq_n_u8(15));
            u[4 + i] = vshrq_n_u8(v, 4);
        }
    }
    if constexpr (kBits == 3 || kBits == 5) {
        constexpr int kPlace = kBits - 1;
        const uint8x16_t v = load_16(codes + 64 * kPlace);
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = vorrq_u8(u[i], bits_of(v, kPlace - i, 1 << kPlace));
    }
    if constexpr (kBits == 6) {
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const uint8x16_t v = load_16(codes + 64 * (4 + h));
            MIXTURA_UNROLL
            for (int j = 0; j < 4; ++j) u[4 * h + j] = vorrq_u8(u[4 * h + j], bits_of(v, 4 - 2 * j, 3 << 4));
        }
    }
    if constexpr (kFormat<kDType>.has_zero_points) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = vsubq_u8(u[i], zeros);  // from -31 on: signed from here
    }
    if constexpr (kFormat<kDType>.steps != nullptr) {
        const int8x16_t steps = vld1q_s8(kFormat<kDType>.steps);
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) w[i] = vqtbl1q_s8(steps, u[i]);
    } else {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) w[i] = vreinterpretq_s8_u8(u[i]);
    }
}

// The zero points of four rows, each in its row's four bytes; `part` says which four of eight.
template <DType kDType>
MIXTURA_TILE uint8x16_t zero_points(const std::byte* eight, int part) {
    if constexpr (!kFormat<kDType>.has_zero_points) return vdupq_n_u8(0);
    const uint16x8_t words = vmovl_u8(load_8(eight));
    const uint32x4_t four = vmovl_u16(part == 0 ? vget_low_u16(words) : vget_high_u16(words));
    return vreinterpretq_u8_u32(vmulq_n_u32(four, 0x0101'0101U));
}

// Scale and minimum of the groups of 32 columns, and -kSumBase · scale; the minimum with the sign the file has (q4_1,
// q5_1: minus the formula's).
struct Scales {
    Eight scale[2], base[2], minimum[2];
};
template <DType kDType>
MIXTURA_TILE void read_scales(Eight d, Eight dmin, const std::byte* group_codes, Scales& s) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    if constexpr (!kF.has_group_codes) {
        s.scale[0] = d;
        s.minimum[0] = dmin;
    } else if constexpr (kTwoGroups<kDType> && kF.has_minimum) {
        MIXTURA_UNROLL
        for (int j = 0; j < 2; ++j) {
            const uint8x8_t both = load_8(group_codes + 16 * j);
            s.scale[j] = times(d, unsigned_eight(vand_u8(both, vdup_n_u8(15))));
            s.minimum[j] = times(dmin, unsigned_eight(vshr_n_u8(both, 4)));
        }
    } else {
        s.scale[0] = times(d, signed_eight(load_8(group_codes)));
        if constexpr (kTwoGroups<kDType>) s.scale[1] = times(d, signed_eight(load_8(group_codes + 16)));
        if constexpr (kF.has_minimum) s.minimum[0] = times(dmin, unsigned_eight(load_8(group_codes + 16)));
    }
    const Eight base = {{vdupq_n_f32(-kSumBase), vdupq_n_f32(-kSumBase)}};
    s.base[0] = times(base, s.scale[0]);
    if constexpr (kTwoGroups<kDType>) s.base[1] = times(base, s.scale[1]);
}

// What the sum of a group starts at; `start` is kSumBaseBits - 128 · Σ q.
template <DType kDType>
MIXTURA_TILE int32x4_t start_of(std::int32_t start) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    constexpr bool kIsSigned = kF.code_bits == 8 || kF.steps != nullptr || kF.offset == 0;
    if constexpr (kIsSigned) return vdupq_n_s32(kSumBaseBits);
    return vdupq_n_s32(kSumBaseBits + ((start - kSumBaseBits) >> kLift<kDType>));  // a multiple of 128: exact
}

// add_group of ref/, four rows at once.
template <DType kDType>
MIXTURA_TILE float32x4_t add_group(int32x4_t sum, float32x4_t scale, float32x4_t base, float32x4_t minimum, float d,
                                   float scaled_sum, float32x4_t y) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    const float32x4_t lifted = vreinterpretq_f32_s32(sum);
    const float32x4_t term = kF.has_exponent_scale ? vmulq_f32(vsubq_f32(lifted, vdupq_n_f32(kSumBase)), scale)
                                                   : vfmaq_f32(base, lifted, scale);
    y = vfmaq_n_f32(y, term, d);
    if constexpr (!kF.has_minimum) return y;
    if constexpr (kF.has_group_codes) return vfmsq_n_f32(y, minimum, scaled_sum);
    return vfmaq_n_f32(y, minimum, scaled_sum);
}

// sum + Σ over the operands of one half of 32 columns: operand i times activations 4i to 4i + 3 of the sixteen.
MIXTURA_TILE int32x4_t dot_16(int32x4_t sum, const int8x16_t* w, int8x16_t activations) {
    sum = vdotq_laneq_s32(sum, w[0], activations, 0);
    sum = vdotq_laneq_s32(sum, w[1], activations, 1);
    sum = vdotq_laneq_s32(sum, w[2], activations, 2);
    return vdotq_laneq_s32(sum, w[3], activations, 3);
}

template <DType kDType, int kTokens, int kHalf>
MIXTURA_TARGET_DOTPROD void half_tile(const std::byte* panel, std::int64_t columns, const void* const* x,
                                      float* const* y) noexcept {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    constexpr IntegerPanel kP = kPanel<kDType>;
    Eight f[kTokens];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) f[t] = {{vdupq_n_f32(0.0F), vdupq_n_f32(0.0F)}};
    std::int64_t offset_bytes = 0;  // of this block in a row of ActivationBlocks
    for (std::int64_t k = 0; k < columns; k += kF.unit_columns, panel += kP.unit_bytes) {
        const Eight d = kF.has_exponent_scale ? exponent_eight(panel + 8 * kHalf) : f16_eight(panel + 16 * kHalf);
        const Eight dmin = kF.has_minimum ? f16_eight(panel + kP.minimum_bytes + 16 * kHalf) : d;
        const uint8x16_t zeros[2] = {zero_points<kDType>(panel + kP.zero_bytes + 8 * kHalf, 0),
                                     zero_points<kDType>(panel + kP.zero_bytes + 8 * kHalf, 1)};
        const std::byte* block = panel + kP.header_bytes;
        for (std::int64_t b = 0; b < kF.unit_columns / kBlockColumns; ++b, block += kP.block_bytes) {
            Scales s;
            read_scales<kDType>(d, dmin, block + 8 * kHalf, s);
            int8x16_t w[2][8];
            MIXTURA_UNROLL
            for (int r = 0; r < 2; ++r)
                unpack<kDType>(block + kP.group_code_bytes + 32 * kHalf + 16 * r, zeros[r], w[r]);
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const auto& a =
                    *reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
                const int8x16_t low = vld1q_s8(a.q), high = vld1q_s8(a.q + 16);
                MIXTURA_UNROLL
                for (int r = 0; r < 2; ++r) {
                    float32x4_t& out = f[t].part[r];
                    if constexpr (kTwoGroups<kDType>) {
                        out = add_group<kDType>(dot_16(start_of<kDType>(a.start_low), w[r], low), s.scale[0].part[r],
                                                s.base[0].part[r], s.minimum[0].part[r], a.d, a.scaled_sum_low, out);
                        out = add_group<kDType>(dot_16(start_of<kDType>(a.start_high), w[r] + 4, high),
                                                s.scale[1].part[r], s.base[1].part[r], s.minimum[1].part[r], a.d,
                                                a.scaled_sum_high, out);
                    } else {
                        const int32x4_t sum = dot_16(dot_16(start_of<kDType>(a.start), w[r], low), w[r] + 4, high);
                        out = add_group<kDType>(sum, s.scale[0].part[r], s.base[0].part[r], s.minimum[0].part[r], a.d,
                                                a.scaled_sum, out);
                    }
                }
            }
            offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        vst1q_f32(y[t] + 8 * kHalf, f[t].part[0]);
        vst1q_f32(y[t] + 8 * kHalf + 4, f[t].part[1]);
    }
}

template <DType kDType, int kTokens>
void tile(const std::byte* panel, std::int64_t, std::int64_t columns, const void* const* x, float* const* y,
          bool) noexcept {
    half_tile<kDType, kTokens, 0>(panel, columns, x, y);
    half_tile<kDType, kTokens, 1>(panel, columns, x, y);
}

template <DType kDType>
void product(const PanelProduct& p) noexcept {
    static constexpr detail::TileFunction kTiles[kTokensMax + 1] = {nullptr, tile<kDType, 1>, tile<kDType, 2>,
                                                                    tile<kDType, 3>, tile<kDType, 4>};
    detail::run_tiles<kTokensMax>(kTiles, p, 1, 0, p.panel_count);
}

}  // namespace

void fill_integer_products_dot(KernelTable& table) noexcept {
    detail::fill_integer_products(table, []<DType kDType>() -> PanelProductFunction { return product<kDType>; });
}

}  // namespace mixtura::neon

#undef MIXTURA_TILE
