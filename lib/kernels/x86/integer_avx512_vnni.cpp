// Products of integer formats for AVX-512 with VNNI: 16 rows x up to 12 tokens a tile, one unpacking per format.
//
// vpdpbusd takes four unsigned weights a lane and four signed activations, which it broadcasts from memory itself, so
// no shuffle competes with it: it runs once a cycle on port 0, while the conversions and the float steps (4 or 5 per 8
// of it) go to port 5 beside it.  Twelve tokens are 12 accumulators, 8 registers of unpacked weights and the scales: 32
// in all. Measured on a 2.7 GHz Xeon, two threads: see tests/bench/RESULTS.md.
#include "kernels/x86/integer_parts_512.hpp"
#include "kernels/x86/x86.hpp"

namespace mixtura::avx512 {
namespace {

constexpr int kTokensMax = 12;
// A panel streams from memory when tokens are few: far enough ahead to cover its latency at 14 GB/s a thread.
constexpr std::int64_t kPrefetchBytes = 6144;

// sum + Σ of four products a lane, the four activations the same for all rows.
MIXTURA_TILE __m512i dot(__m512i sum, __m512i weights, const std::int8_t* activations) {
    using Four = const std::int8_t[4];
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*reinterpret_cast<Four*>(activations)));
    return sum;
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
        __m512 d, dmin;
        __m512i zeros;
        read_header<kDType>(panel, d, dmin, zeros);
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
    detail::fill_integer_products(table, []<DType kDType>() -> PanelProductFunction { return product<kDType>; });
}

}  // namespace mixtura::avx512
