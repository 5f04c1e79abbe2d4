// Products of integer formats for AVX-512 with VNNI: 16 rows x up to 12 tokens a tile, one unpacking per format.
//
// vpdpbusd takes four unsigned weights a lane and four signed activations, which it broadcasts from memory itself, so
// no shuffle competes with it: it runs once a cycle on port 0, while the conversions and the float steps (4 or 5 per 8
// of it) go to port 5 beside it.  Twelve tokens are 12 accumulators, 8 registers of unpacked weights and the scales: 32
// in all. Measured on a 2.7 GHz Xeon, two threads: see tests/bench/RESULTS.md.
#include "kernels/x86/isa.hpp"
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_TILE MIXTURA_TARGET_AVX512_VNNI MIXTURA_ALWAYS_INLINE

namespace mixtura::avx512 {
namespace {

using detail::kFormat;
using detail::kHasOffset;
using detail::kLift;
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

// 32 columns more of 16 rows.
template <DType kDType, bool kTwoChains>
MIXTURA_TILE __m512 add_block(const __m512i (&u)[8], const Scales& s, const ActivationBlock& x, __m512 y) {
    if constexpr (kTwoGroups<kDType>) {
        __m512i low = start_of<kDType>(x.start_low), high = start_of<kDType>(x.start_high);
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            low = dot(low, u[i], x.q + 4 * i);
            high = dot(high, u[4 + i], x.q + 16 + 4 * i);
        }
        y = add_group<kDType, 0>(low, s, x.d, x.scaled_sum_low, y);
        return add_group<kDType, 1>(high, s, x.d, x.scaled_sum_high, y);
    } else {
        __m512i low = start_of<kDType>(x.start), high = _mm512_setzero_si512();
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            low = dot(low, u[i], x.q + 4 * i);
            if constexpr (kTwoChains) high = dot(high, u[4 + i], x.q + 16 + 4 * i);
        }
        if constexpr (kTwoChains) {
            low = _mm512_add_epi32(low, high);
        } else {
            MIXTURA_UNROLL
            for (int i = 4; i < 8; ++i) low = dot(low, u[i], x.q + 4 * i);
        }
        return add_group<kDType, 0>(low, s, x.d, x.scaled_sum, y);
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
        __m512 d = kF.has_exponent_scale ? exponent_lanes(panel) : f16_lanes(panel);
        if constexpr (kLift<kDType> != 0) d = _mm512_mul_ps(d, _mm512_set1_ps(1.0F / (1 << kLift<kDType>)));
        const __m512 dmin = kF.has_minimum ? f16_lanes(panel + kP.minimum_bytes) : d;
        const __m512i zeros = zero_shift<kDType>(panel + kP.zero_bytes);
        const std::byte* block = panel + kP.header_bytes;
        for (std::int64_t b = 0; b < kF.unit_columns / kBlockColumns; ++b, block += kP.block_bytes) {
            MIXTURA_UNROLL
            for (std::int64_t line = 0; line < kP.block_bytes; line += 64) {
                _mm_prefetch(reinterpret_cast<const char*>(block) + kPrefetchBytes + line, _MM_HINT_T0);
            }
            Scales scales;
            read_scales<kDType>(d, dmin, block, scales);
            set_bases<kDType>(scales);
            __m512i u[8];
            unpack<kDType>(block + kP.group_code_bytes, zeros, u);
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const auto& activations =
                    *reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
                f[t] = add_block<kDType, (kTokens < 4)>(u, scales, activations, f[t]);
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
    table.product[product_index(DType::int4_32)] = product<DType::int4_32>;
    table.product[product_index(DType::int4_64)] = product<DType::int4_64>;
    table.product[product_index(DType::int4_128)] = product<DType::int4_128>;
}

}  // namespace mixtura::avx512
