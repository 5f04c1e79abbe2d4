// Products of plain and scaled panels on sixteen lanes: one fused chain over k an output.  Included once per
// instruction set, inside its namespace, after its Lanes, with MIXTURA_BODY_TARGET defined; so this file has no include
// guard.
//
// A fused step takes four cycles and two can start in each, so a core needs eight chains at once: with few tokens
// several panels go together (up to four), with many one or two panels by up to kPlainTokensMax tokens.

#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

template <DType kDType>
constexpr bool kIsScaled = scaled_format(kDType) != nullptr;

// Bytes of one column of a panel; of half an nf4's pair.
template <DType kDType>
constexpr std::int64_t column_bytes() noexcept {
    if constexpr (kIsScaled<kDType>) {
        return scaled_column_bytes(*scaled_format(kDType));
    } else {
        return kDType == DType::f32 ? 64 : 32;
    }
}

// Column `kAt` behind `column`, an even one.
template <DType kDType, int kAt>
MIXTURA_BODY_INLINE Lanes load_column(const std::byte* column) {
    column += (kDType == DType::nf4 ? kAt / 2 * 2 : kAt) * column_bytes<kDType>();
    if constexpr (kDType == DType::f32) return load(reinterpret_cast<const float*>(column));
    if constexpr (kDType == DType::f16) return load_f16(column);
    if constexpr (kDType == DType::bf16) return load_bf16(column);
    if constexpr (kDType == DType::nf4) return load_mapped<kAt % 2 == 1>(column, kNf4Map);
    if constexpr (kIsScaled<kDType> && kDType != DType::nf4) return load_finite_e4m3(column);
}

// Column k of kPanels panels, kAt columns behind `column`.
template <DType kDType, int kAt, int kPanels, int kTokens>
MIXTURA_BODY_INLINE void add_column(const std::byte* column, std::int64_t panel_bytes, const Lanes (&scales)[kPanels],
                                    const void* const* x, std::int64_t k, Lanes (&f)[kTokens][kPanels]) {
    Lanes w[kPanels];
    MIXTURA_UNROLL
    for (int p = 0; p < kPanels; ++p) {
        w[p] = load_column<kDType, kAt>(column + p * panel_bytes);
        if constexpr (kIsScaled<kDType>) w[p] = mul(w[p], scales[p]);
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        const Lanes a = broadcast(static_cast<const float*>(x[t])[k]);
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) f[t][p] = fma(a, w[p], f[t][p]);
    }
}

// Columns [first, last) of panels whose column `first` is at `column`.
template <DType kDType, int kPanels, int kTokens>
MIXTURA_BODY_INLINE void add_columns(const std::byte* column, std::int64_t panel_bytes, const Lanes (&scales)[kPanels],
                                     const void* const* x, std::int64_t first, std::int64_t last,
                                     Lanes (&f)[kTokens][kPanels]) {
    constexpr std::int64_t kPrefetchColumns = kPanels > 1 || kTokens < 4 ? 64 : 32;
    constexpr std::int64_t kPrefetchBytes = kIsScaled<kDType> ? 2048 : kPrefetchColumns * column_bytes<kDType>();
    constexpr int kStep = kIsScaled<kDType> ? 4 : 1;  // columns to a prefetch: a cache line of codes
    for (std::int64_t k = first; k < last; k += kStep, column += kStep * column_bytes<kDType>()) {
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) __builtin_prefetch(column + p * panel_bytes + kPrefetchBytes);
        add_column<kDType, 0>(column, panel_bytes, scales, x, k, f);
        if constexpr (kStep == 4) {
            add_column<kDType, 1>(column, panel_bytes, scales, x, k + 1, f);
            add_column<kDType, 2>(column, panel_bytes, scales, x, k + 2, f);
            add_column<kDType, 3>(column, panel_bytes, scales, x, k + 3, f);
        }
    }
}

template <DType kDType, int kPanels, int kTokens>
MIXTURA_BODY_TARGET void plain_tile(const std::byte* panel, std::int64_t panel_bytes, std::int64_t columns,
                                    const void* const* x, float* const* y, bool accumulate) noexcept {
    Lanes f[kTokens][kPanels], scales[kPanels];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) f[t][p] = accumulate ? load(y[t] + 16 * p) : broadcast(0.0F);
    }
    MIXTURA_UNROLL
    for (int p = 0; p < kPanels; ++p) scales[p] = broadcast(1.0F);
    if constexpr (kIsScaled<kDType>) {
        constexpr ScaledFormat kFormat = *scaled_format(kDType);
        for (std::int64_t k = 0; k < columns; k += kFormat.unit_columns, panel += scaled_unit_bytes(kFormat)) {
            MIXTURA_UNROLL
            for (int p = 0; p < kPanels; ++p) scales[p] = load(reinterpret_cast<const float*>(panel + p * panel_bytes));
            add_columns<kDType>(panel + kScaledHeaderBytes, panel_bytes, scales, x, k, k + kFormat.unit_columns, f);
        }
    } else {
        add_columns<kDType>(panel, panel_bytes, scales, x, 0, columns, f);
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) {
        MIXTURA_UNROLL
        for (int p = 0; p < kPanels; ++p) store(y[t] + 16 * p, f[t][p]);
    }
}

#undef MIXTURA_BODY_INLINE
