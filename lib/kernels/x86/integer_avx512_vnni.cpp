// Products of integer formats for AVX-512 with VNNI: 16 rows x up to 12 tokens a tile, one unpacking per format.
//
// vpdpbusd takes four unsigned weights a lane and four signed activations, which it broadcasts from memory itself, so
// no shuffle competes with it: it runs once a cycle on port 0, while the conversions and the float steps (4 or 5 per 8
// of it) go to port 5 beside it.  Twelve tokens are 12 accumulators, 8 registers of unpacked weights and the scales: 32
// in all. Measured on a 2.7 GHz Xeon, two threads: see tests/bench/RESULTS.md.
#include "kernels/x86/isa.hpp"
#include "kernels/x86/tiles.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_TILE MIXTURA_TARGET_AVX512_VNNI MIXTURA_ALWAYS_INLINE

namespace mixtura::avx512 {
namespace {

using detail::bytes_of;
using detail::kFormat;
using detail::kOffset;
using detail::kPanel;
using detail::kTwoGroups;

constexpr int kTokensMax = 12;
// A panel streams from memory when tokens are few: far enough ahead to cover its latency at 14 GB/s a thread.
constexpr std::int64_t kPrefetchBytes = 6144;

// sum + Σ of four products a lane, the four activations the same for all rows.
MIXTURA_TILE __m512i dot(__m512i sum, __m512i weights, const std::int8_t* activations) {
    using Four = const std::int8_t[4];
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*reinterpret_cast<Four*>(activations)));
    return sum;
}

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

// (vector shifted left by kShift, or right where it is negative) & mask | low, on bytes: mask drops what crosses them.
template <int kShift>
MIXTURA_TILE __m512i with_bits(__m512i low, __m512i vector, __m512i mask) {
    __m512i moved = vector;
    if constexpr (kShift > 0) moved = _mm512_slli_epi16(vector, kShift);
    if constexpr (kShift < 0) moved = _mm512_srli_epi16(vector, -kShift);
    return _mm512_ternarylogic_epi32(moved, mask, low, 0xEA);  // (a & b) | c
}

// layout.hpp says where the bits are.
template <DType kDType>
MIXTURA_TILE void unpack(const std::byte* codes, __m512i (&u)[8]) {
    constexpr int kBits = kFormat<kDType>.code_bits;
    if constexpr (kBits == 8) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = load_64(codes + 64 * i);
    } else if constexpr (kBits == 2 || kBits == 3) {
        const __m512i three = _mm512_set1_epi8(3);
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const __m512i v = load_64(codes + 64 * h);
            u[4 * h] = _mm512_and_si512(v, three);
            u[4 * h + 1] = _mm512_and_si512(_mm512_srli_epi16(v, 2), three);
            u[4 * h + 2] = _mm512_and_si512(_mm512_srli_epi16(v, 4), three);
            u[4 * h + 3] = _mm512_and_si512(_mm512_srli_epi16(v, 6), three);
        }
    } else {
        const __m512i fifteen = _mm512_set1_epi8(15);
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const __m512i v = load_64(codes + 64 * i);
            u[i] = _mm512_and_si512(v, fifteen);
            u[4 + i] = _mm512_and_si512(_mm512_srli_epi16(v, 4), fifteen);
        }
    }
    if constexpr (kBits == 3 || kBits == 5) {
        constexpr int kPlace = kBits - 1;
        const __m512i bit = _mm512_set1_epi8(1 << kPlace), v = load_64(codes + 64 * kPlace);
        u[0] = with_bits<kPlace>(u[0], v, bit);
        u[1] = with_bits<kPlace - 1>(u[1], v, bit);
        u[2] = with_bits<kPlace - 2>(u[2], v, bit);
        u[3] = with_bits<kPlace - 3>(u[3], v, bit);
        u[4] = with_bits<kPlace - 4>(u[4], v, bit);
        u[5] = with_bits<kPlace - 5>(u[5], v, bit);
        u[6] = with_bits<kPlace - 6>(u[6], v, bit);
        u[7] = with_bits<kPlace - 7>(u[7], v, bit);
    }
    if constexpr (kBits == 6) {
        const __m512i bits = _mm512_set1_epi8(0x30);
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const __m512i v = load_64(codes + 64 * (4 + h));
            u[4 * h] = with_bits<4>(u[4 * h], v, bits);
            u[4 * h + 1] = with_bits<2>(u[4 * h + 1], v, bits);
            u[4 * h + 2] = with_bits<0>(u[4 * h + 2], v, bits);
            u[4 * h + 3] = with_bits<-2>(u[4 * h + 3], v, bits);
        }
    }
    if constexpr (kFormat<kDType>.steps != nullptr) {
        const __m512i steps =
            _mm512_broadcast_i32x4(load_16(reinterpret_cast<const std::byte*>(detail::kStepTable<kDType>.bytes)));
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm512_shuffle_epi8(steps, u[i]);
    }
}

// s and m of the groups of 32 columns; m with the sign the file has (q4_1, q5_1: minus the formula's).
struct Scales {
    __m512 scale[2], minimum[2];
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

// The exact Σ q_w · q as f32: Σ u · q, less offset · Σ q.
template <DType kDType>
MIXTURA_TILE __m512 without_offset(__m512i sum, float activation_sum) {
    const __m512 x = _mm512_cvtepi32_ps(sum);
    if constexpr (kOffset<kDType> == 0) return x;
    return _mm512_fnmadd_ps(_mm512_set1_ps(static_cast<float>(kOffset<kDType>)), _mm512_set1_ps(activation_sum), x);
}

// The term t of README.md's table for 32 columns of 16 rows.
template <DType kDType, bool kTwoChains>
MIXTURA_TILE __m512 block_term(const __m512i (&u)[8], const Scales& s, const ActivationBlock& x) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i low = zero, high = zero;
    constexpr bool kSplit = kTwoGroups<kDType> || kTwoChains;
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        low = dot(low, u[i], x.q + 4 * i);
        if constexpr (kSplit) high = dot(high, u[4 + i], x.q + 16 + 4 * i);
    }
    if constexpr (kTwoGroups<kDType>) {
        const __m512 x0 = without_offset<kDType>(low, x.sum_low), x1 = without_offset<kDType>(high, x.sum_high);
        if constexpr (!kFormat<kDType>.has_minimum) {
            return _mm512_fmadd_ps(x1, s.scale[1], _mm512_mul_ps(x0, s.scale[0]));
        } else {
            const __m512 offset = _mm512_fmadd_ps(s.minimum[1], _mm512_set1_ps(x.sum_high),
                                                  _mm512_mul_ps(s.minimum[0], _mm512_set1_ps(x.sum_low)));
            return _mm512_fmadd_ps(x1, s.scale[1], _mm512_fmsub_ps(x0, s.scale[0], offset));
        }
    } else {
        if constexpr (kSplit) {
            low = _mm512_add_epi32(low, high);
        } else {
            MIXTURA_UNROLL
            for (int i = 4; i < 8; ++i) low = dot(low, u[i], x.q + 4 * i);
        }
        const __m512 x0 = without_offset<kDType>(low, x.sum);
        if constexpr (!kFormat<kDType>.has_minimum) return _mm512_mul_ps(x0, s.scale[0]);
        const __m512 offset = _mm512_mul_ps(s.minimum[0], _mm512_set1_ps(x.sum));
        if constexpr (kFormat<kDType>.has_group_codes) return _mm512_fmsub_ps(x0, s.scale[0], offset);
        return _mm512_fmadd_ps(x0, s.scale[0], offset);
    }
}

template <DType kDType, int kTokens>
MIXTURA_TARGET_AVX512_VNNI void tile(const std::byte* panel, std::int64_t, std::int64_t columns, const void* const* x,
                                     float* const* y, bool) noexcept {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    constexpr IntegerPanel kP = kPanel<kDType>;
    __m512 f[kTokens];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) f[t] = _mm512_setzero_ps();
    std::int64_t offset_bytes = 0;  // of this block in a row of ActivationBlocks
    for (std::int64_t k = 0; k < columns; k += kF.unit_columns, panel += kP.unit_bytes) {
        const __m512 d = kF.has_exponent_scale ? exponent_lanes(panel) : f16_lanes(panel);
        const __m512 dmin = kF.has_minimum ? f16_lanes(panel + kP.minimum_bytes) : d;
        const std::byte* block = panel + kP.header_bytes;
        for (std::int64_t b = 0; b < kF.unit_columns / kBlockColumns; ++b, block += kP.block_bytes) {
            MIXTURA_UNROLL
            for (std::int64_t line = 0; line < kP.block_bytes; line += 64) {
                _mm_prefetch(reinterpret_cast<const char*>(block) + kPrefetchBytes + line, _MM_HINT_T0);
            }
            Scales scales;
            read_scales<kDType>(d, dmin, block, scales);
            __m512i u[8];
            unpack<kDType>(block + kP.group_code_bytes, u);
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const auto& activations =
                    *reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
                const __m512 term = block_term<kDType, (kTokens < 4)>(u, scales, activations);
                f[t] = _mm512_fmadd_ps(term, _mm512_set1_ps(activations.d), f[t]);
            }
            offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(y[t], f[t]);
}

template <DType kDType>
void product(const PanelProduct& p) noexcept {
    static constexpr detail::TileFunction kTiles[kTokensMax + 1] = {
        nullptr,          tile<kDType, 1>,  tile<kDType, 2>, tile<kDType, 3>, tile<kDType, 4>,
        tile<kDType, 5>,  tile<kDType, 6>,  tile<kDType, 7>, tile<kDType, 8>, tile<kDType, 9>,
        tile<kDType, 10>, tile<kDType, 11>, tile<kDType, 12>};
    detail::run_tiles<kTokensMax>(kTiles, p, 1, 0, p.panel_count);
}

}  // namespace

void fill_integer_products_vnni(KernelTable& table) noexcept {
    table.product[product_index(DType::q4_0)] = product<DType::q4_0>;
    table.product[product_index(DType::q4_1)] = product<DType::q4_1>;
    table.product[product_index(DType::q5_0)] = product<DType::q5_0>;
    table.product[product_index(DType::q5_1)] = product<DType::q5_1>;
    table.product[product_index(DType::q8_0)] = product<DType::q8_0>;
    table.product[product_index(DType::q2_k)] = product<DType::q2_k>;
    table.product[product_index(DType::q3_k)] = product<DType::q3_k>;
    table.product[product_index(DType::q4_k)] = product<DType::q4_k>;
    table.product[product_index(DType::q5_k)] = product<DType::q5_k>;
    table.product[product_index(DType::q6_k)] = product<DType::q6_k>;
    table.product[product_index(DType::iq4_nl)] = product<DType::iq4_nl>;
    table.product[product_index(DType::iq4_xs)] = product<DType::iq4_xs>;
    table.product[product_index(DType::mxfp4)] = product<DType::mxfp4>;
}

}  // namespace mixtura::avx512
