// Products of integer formats for AVX-512 with VNNI.
//
// vpdpbusd takes four unsigned weights a lane and four signed activations, the same for all rows.  Ports 0 and 5 start
// one each cycle; the float steps of a group (two, with a minimum three) and the unpacking share them, so 8 of every 10
// to 12 slots are products at best.  The load ports come next: two a cycle.  Two kinds of tile:
//   few tokens: a panel x up to 12 tokens, weights unpacked in registers, activations broadcast by vpdpbusd's own load;
//   many tokens: two panels x 6 tokens over 256 columns at a time, weights unpacked once for all tokens into L1 and
//   each broadcast used twice, which halves the loads.
// Readings: tests/bench/RESULTS.md.
#include "kernels/x86/integer_avx512_vnni.hpp"

#include "kernels/x86/x86.hpp"

#define MIXTURA_TILE MIXTURA_TARGET_AVX512_VNNI MIXTURA_ALWAYS_INLINE

namespace mixtura::avx512 {
namespace {

constexpr int kTokensMax = 12;
// A panel streams from memory when tokens are few: far enough ahead to cover its latency at 14 GB/s a thread.
constexpr std::int64_t kPrefetchBytes = 6144;

// 32 columns more of 16 rows and kTogether tokens.  The tokens take turns, operand by operand: a vpdpbusd waits five
// cycles for the one before it, and with tokens one after another the scheduler (97 entries) fills up with such
// waiters.
template <DType kDType, int kTogether>
MIXTURA_TILE void add_block(const __m512i (&u)[8], const Scales& s, const ActivationBlock* const* x, __m512* y) {
    __m512i low[kTogether], high[kTogether];
    MIXTURA_UNROLL
    for (int t = 0; t < kTogether; ++t) {
        low[t] = start_of<kDType>(kTwoGroups<kDType> ? x[t]->start_low : x[t]->start);
        high[t] = kTwoGroups<kDType> ? start_of<kDType>(x[t]->start_high) : _mm512_setzero_si512();
    }
    constexpr bool kTwoChains = kTwoGroups<kDType> || kTogether < 4;
    MIXTURA_UNROLL
    for (int i = 0; i < 4; ++i) {
        MIXTURA_UNROLL
        for (int t = 0; t < kTogether; ++t) {
            low[t] = dot(low[t], u[i], x[t]->q + 4 * i);
            if constexpr (kTwoChains) high[t] = dot(high[t], u[4 + i], x[t]->q + 16 + 4 * i);
        }
    }
    if constexpr (!kTwoChains) {
        MIXTURA_UNROLL
        for (int i = 4; i < 8; ++i) {
            MIXTURA_UNROLL
            for (int t = 0; t < kTogether; ++t) low[t] = dot(low[t], u[i], x[t]->q + 4 * i);
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTogether; ++t) {
        if constexpr (kTwoGroups<kDType>) {
            y[t] = add_group<kDType, 0>(low[t], s, x[t]->d, x[t]->scaled_sum_low, y[t]);
            y[t] = add_group<kDType, 1>(high[t], s, x[t]->d, x[t]->scaled_sum_high, y[t]);
        } else {
            if constexpr (kTwoChains) low[t] = _mm512_add_epi32(low[t], high[t]);
            y[t] = add_group<kDType, 0>(low[t], s, x[t]->d, x[t]->scaled_sum, y[t]);
        }
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
        read_header<kDType>(panel, d, dmin);
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
            unpack<kDType>(block + kP.group_code_bytes, u);
            const ActivationBlock* a[kTokens];
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                a[t] = reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
            }
            constexpr int kTogether = kTokens < 4 ? kTokens : 4, kRest = kTokens % kTogether;
            MIXTURA_UNROLL
            for (int t = 0; t + kTogether <= kTokens; t += kTogether)
                add_block<kDType, kTogether>(u, scales, a + t, f + t);
            if constexpr (kRest != 0) add_block<kDType, kRest>(u, scales, a + kTokens - kRest, f + kTokens - kRest);
            offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(y[t], f[t]);
}

// 32 columns of one panel, ready to multiply.
struct UnpackedBlock {
    __m512i u[8];
    Scales scales;
};

constexpr std::int64_t kChunkBlocks = 8;  // 256 columns; two panels' unpacked blocks are 14 KiB

template <DType kDType>
MIXTURA_TARGET_AVX512_VNNI void unpack_chunk(const std::byte* panel, std::int64_t first_block, std::int64_t block_count,
                                             UnpackedBlock* out) noexcept {
    constexpr IntegerPanel kP = kPanel<kDType>;
    constexpr std::int64_t kBlocksPerUnit = kFormat<kDType>.unit_columns / kBlockColumns;
    const std::byte* unit = panel + first_block / kBlocksPerUnit * kP.unit_bytes;
    for (std::int64_t b = 0; b < block_count; unit += kP.unit_bytes) {
        __m512 d, dmin;
        read_header<kDType>(unit, d, dmin);
        const std::byte* block = unit + kP.header_bytes;
        for (std::int64_t i = 0; i < kBlocksPerUnit; ++i, ++b, block += kP.block_bytes) {
            MIXTURA_UNROLL
            for (std::int64_t line = 0; line < kP.block_bytes; line += 64) {
                _mm_prefetch(reinterpret_cast<const char*>(block) + kPrefetchBytes + line, _MM_HINT_T0);
            }
            read_scales<kDType>(d, dmin, block, out[b].scales);
            set_bases<kDType>(out[b].scales);
            unpack<kDType>(block + kP.group_code_bytes, out[b].u);
        }
    }
}

// y += the chunk's columns, for two panels and kTokens tokens.  Twelve sums, twelve outputs, two weights: 26 registers.
template <DType kDType, int kTokens>
MIXTURA_TARGET_AVX512_VNNI void wide_tile(const UnpackedBlock* first, const UnpackedBlock* second,
                                          std::int64_t block_count, std::int64_t offset_bytes, const void* const* x,
                                          float* const* y, bool is_start) noexcept {
    __m512 f[kTokens][2];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        f[t][0] = is_start ? _mm512_setzero_ps() : _mm512_loadu_ps(y[t]);
        f[t][1] = is_start ? _mm512_setzero_ps() : _mm512_loadu_ps(y[t] + kPanelRows);
    }
    for (std::int64_t b = 0; b < block_count; ++b, ++first, ++second) {
        const ActivationBlock* a[kTokens];
        MIXTURA_UNROLL
        for (int t = 0; t < kTokens; ++t) {
            a[t] = reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
        }
        offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        __m512i sum[kTokens][2];
        MIXTURA_UNROLL
        for (int g = 0; g < (kTwoGroups<kDType> ? 2 : 1); ++g) {
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const std::int32_t& start = !kTwoGroups<kDType> ? a[t]->start
                                            : g == 0            ? a[t]->start_low
                                                                : a[t]->start_high;
                sum[t][0] = start_of<kDType>(start);
                sum[t][1] = sum[t][0];
            }
            constexpr int kOperands = kTwoGroups<kDType> ? 4 : 8;
            MIXTURA_UNROLL
            for (int i = g * kOperands; i < (g + 1) * kOperands; ++i) {
                const __m512i w0 = first->u[i], w1 = second->u[i];
                MIXTURA_UNROLL
                for (int t = 0; t < kTokens; ++t) {
                    const __m512i four = broadcast_four(a[t]->q + 4 * i);
                    sum[t][0] = _mm512_dpbusd_epi32(sum[t][0], w0, four);
                    sum[t][1] = _mm512_dpbusd_epi32(sum[t][1], w1, four);
                }
            }
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const float scaled_sum = !kTwoGroups<kDType> ? a[t]->scaled_sum
                                         : g == 0            ? a[t]->scaled_sum_low
                                                             : a[t]->scaled_sum_high;
                if (g == 0) {
                    f[t][0] = add_group<kDType, 0>(sum[t][0], first->scales, a[t]->d, scaled_sum, f[t][0]);
                    f[t][1] = add_group<kDType, 0>(sum[t][1], second->scales, a[t]->d, scaled_sum, f[t][1]);
                } else {
                    f[t][0] = add_group<kDType, 1>(sum[t][0], first->scales, a[t]->d, scaled_sum, f[t][0]);
                    f[t][1] = add_group<kDType, 1>(sum[t][1], second->scales, a[t]->d, scaled_sum, f[t][1]);
                }
            }
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        _mm512_storeu_ps(y[t], f[t][0]);
        _mm512_storeu_ps(y[t] + kPanelRows, f[t][1]);
    }
}

using WideTile = void (*)(const UnpackedBlock* first, const UnpackedBlock* second, std::int64_t block_count,
                          std::int64_t offset_bytes, const void* const* x, float* const* y, bool is_start) noexcept;
constexpr int kWideTokens = 6;

template <DType kDType>
MIXTURA_TARGET_AVX512_VNNI void wide_product(const PanelProduct& p, std::int64_t pair) noexcept {
    static constexpr WideTile kTiles[kWideTokens + 1] = {nullptr,
                                                         wide_tile<kDType, 1>,
                                                         wide_tile<kDType, 2>,
                                                         wide_tile<kDType, 3>,
                                                         wide_tile<kDType, 4>,
                                                         wide_tile<kDType, 5>,
                                                         wide_tile<kDType, 6>};
    UnpackedBlock blocks[2][kChunkBlocks];
    const std::byte* panel = p.panels + 2 * pair * p.panel_bytes;
    const std::int64_t block_count = p.columns / kBlockColumns, runs = (p.token_count + kWideTokens - 1) / kWideTokens;
    for (std::int64_t b = 0; b < block_count; b += kChunkBlocks) {
        const std::int64_t count = block_count - b < kChunkBlocks ? block_count - b : kChunkBlocks;
        unpack_chunk<kDType>(panel, b, count, blocks[0]);
        unpack_chunk<kDType>(panel + p.panel_bytes, b, count, blocks[1]);
        std::int64_t first = 0;
        for (std::int64_t run = 0; run < runs; ++run) {
            const std::int64_t tokens = (p.token_count - first + runs - run - 1) / (runs - run);
            float* y[kWideTokens];
            for (std::int64_t t = 0; t < tokens; ++t) y[t] = p.y[first + t] + 2 * pair * kPanelRows;
            kTiles[tokens](blocks[0], blocks[1], count, b * static_cast<std::int64_t>(sizeof(ActivationBlock)),
                           p.x + first, y, b == 0);
            first += tokens;
        }
    }
}

// From how many tokens on the second kind of tile is faster: the more a format's unpacking costs, the fewer.
template <DType kDType>
constexpr std::int64_t kWideFrom = kFormat<kDType>.code_bits == 8                         ? 40
                                   : kTwoGroups<kDType> || kFormat<kDType>.code_bits == 5 ? 18
                                                                                          : 24;

template <DType kDType>
void product(const PanelProduct& p) noexcept {
    static constexpr detail::TileFunction kTiles[kTokensMax + 1] = {
        nullptr,          tile<kDType, 1>,  tile<kDType, 2>, tile<kDType, 3>, tile<kDType, 4>,
        tile<kDType, 5>,  tile<kDType, 6>,  tile<kDType, 7>, tile<kDType, 8>, tile<kDType, 9>,
        tile<kDType, 10>, tile<kDType, 11>, tile<kDType, 12>};
    std::int64_t done = 0;
    if (p.token_count >= kWideFrom<kDType>) {
        for (; done + 2 <= p.panel_count; done += 2) wide_product<kDType>(p, done / 2);
    }
    detail::run_tiles<kTokensMax>(kTiles, p, 1, done, p.panel_count);
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
