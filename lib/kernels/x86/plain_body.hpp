// Products of f32, f16 and bf16 panels on sixteen lanes: one fused chain over k an output.  Included once per
// instruction set, inside its namespace, after its Lanes, with MIXTURA_BODY_TARGET defined; so this file has no include
// guard.
//
// A fused step takes four cycles and two can start in each, so a core needs eight chains at once: with few tokens
// several panels go together (up to four), with many one or two panels by up to kPlainTokensMax tokens.

#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

template <DType kDType>
MIXTURA_BODY_INLINE Lanes load_column(const std::byte* panel, std::int64_t k) {
    if constexpr (kDType == DType::f32) return load(reinterpret_cast<const float*>(panel) + 16 * k);
    if constexpr (kDType == DType::f16) return load_f16(panel + 32 * k);
    if constexpr (kDType == DType::bf16) return load_bf16(panel + 32 * k);
}

template <DType kDType, int kPanels, int kTokens>
MIXTURA_BODY_TARGET void plain_tile(const std::byte* panel, std::int64_t panel_bytes, std::int64_t columns,
                                    const void* const* x, float* const* y, bool accumulate) noexcept {
    constexpr std::int64_t kPrefetchColumns = kPanels > 1 || kTokens < 4 ? 64 : 32;
    Lanes f[kTokens][kPanels];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) f[t][p] = accumulate ? load(y[t] + 16 * p) : broadcast(0.0F);
    }
    for (std::int64_t k = 0; k < columns; ++k) {
        Lanes w[kPanels];
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) {
            w[p] = load_column<kDType>(panel + p * panel_bytes, k);
            constexpr std::int64_t kColumnBytes = kDType == DType::f32 ? 64 : 32;
            _mm_prefetch(reinterpret_cast<const char*>(panel) + p * panel_bytes + (k + kPrefetchColumns) * kColumnBytes,
                         _MM_HINT_T0);
        }
        MIXTURA_UNROLL
        for (int t = 0; t < kTokens; ++t) {
            const Lanes a = broadcast(static_cast<const float*>(x[t])[k]);
            MIXTURA_UNROLL
            for (int p = 0; p < kPanels; ++p) f[t][p] = fma(a, w[p], f[t][p]);
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) store(y[t] + 16 * p, f[t][p]);
    }
}

#undef MIXTURA_BODY_INLINE
