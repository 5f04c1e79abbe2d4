// Products of integer formats on 256-bit registers: 8 rows x up to 4 tokens a tile, a panel's two halves one after the
// other.  Included for AVX2 and for AVX-VNNI, each in its namespace with MIXTURA_BODY_TARGET and MIXTURA_BODY_VNNI
// defined; so this file has no include guard.  For AVX-VNNI MIXTURA_BODY_DPBUSD names the intrinsic, so that the tests
// can build the same tiles with the vpdpbusd of AVX-512, which more processors have.
//
// Without vpdpbusd four products are vpmaddubsw (unsigned x signed to two 16-bit sums) and vpmaddwd by ones
// (or by 2^kLift).  The
// 16-bit step saturates, so it must never reach 32767: for codes up to 63 its sums stay below, 8, 4 or 2 of them added
// before they are widened; 8-bit codes go as |w| times the activation with w's sign, at most 2 · 128 · 127 = 32512.

#define MIXTURA_TILE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

using detail::kFormat;
using detail::kHasOffset;
using detail::kLift;
using detail::kPanel;
using detail::kTwoGroups;

constexpr int kTokensMax = 4;  // 4 chains, 8 registers of weights, one sum, scales from memory: 16

template <DType kDType>
constexpr int kLargestCode = (1 << kFormat<kDType>.code_bits) - 1;
// Whether weights are multiplied with their sign, so that no offset is left to take away.
template <DType kDType>
constexpr bool kSigned = !MIXTURA_BODY_VNNI && (kFormat<kDType>.code_bits == 8 || kFormat<kDType>.steps != nullptr ||
                                                kFormat<kDType>.has_zero_points);
// How many vpmaddubsw results fit 16 bits.
template <DType kDType>
constexpr int kSumsTogether = kLargestCode<kDType> <= 15   ? 8
                              : kLargestCode<kDType> <= 31 ? 4
                                                           : 2;

MIXTURA_TILE __m256i load_32(const std::byte* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
MIXTURA_TILE __m128i load_8(const std::byte* at) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)); }
MIXTURA_TILE __m256 f16_lanes(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
MIXTURA_TILE __m256 unsigned_lanes(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)); }
MIXTURA_TILE __m256 signed_lanes(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)); }

// 2^(e - 128), as f8_e8m0_half_to_f32.
MIXTURA_TILE __m256 exponent_lanes(const std::byte* at) {
    const __m256i e = _mm256_cvtepu8_epi32(load_8(at));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x0020'0000), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, subnormal, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
}

template <int kShift>
MIXTURA_TILE __m256i shifted(__m256i vector) {
    if constexpr (kShift > 0) return _mm256_slli_epi16(vector, kShift);
    if constexpr (kShift < 0) return _mm256_srli_epi16(vector, -kShift);
    return vector;
}
// Bytes shifted left by kShift, or right where it is negative; kMask drops what crosses from one byte into the next.
template <int kShift, int kMask>
MIXTURA_TILE __m256i bits_of(__m256i vector) {
    return _mm256_and_si256(shifted<kShift>(vector), _mm256_set1_epi8(static_cast<char>(kMask)));
}
template <int kShift, int kMask>
MIXTURA_TILE __m256i with_bits(__m256i low, __m256i vector) {
    return _mm256_or_si256(bits_of<kShift, kMask>(vector), low);
}

// 128 - z in each of a row's four bytes.
template <DType kDType>
MIXTURA_TILE __m256i zero_shift(const std::byte* zeros) {
    if constexpr (!kFormat<kDType>.has_zero_points) return _mm256_setzero_si256();
    const __m256i z = _mm256_mullo_epi32(_mm256_cvtepu8_epi32(load_8(zeros)), _mm256_set1_epi32(0x0101'0101));
    return _mm256_sub_epi8(_mm256_set1_epi8(-128), z);
}

// Eight rows' codes; `codes` points at the half's first byte.  layout.hpp says where the bits are.
template <DType kDType>
MIXTURA_TILE void unpack(const std::byte* codes, __m256i zeros, __m256i (&u)[8]) {
    constexpr int kBits = kFormat<kDType>.code_bits, kUp = (MIXTURA_BODY_VNNI ? kLift<kDType> : 0);
    if constexpr (kBits == 8) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = load_32(codes + 64 * i);
    } else if constexpr (kBits == 2 || kBits == 3) {
        MIXTURA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const __m256i v = load_32(codes + 64 * h);
            u[4 * h] = bits_of<kUp, 3 << kUp>(v);
            u[4 * h + 1] = bits_of<kUp - 2, 3 << kUp>(v);
            u[4 * h + 2] = bits_of<kUp - 4, 3 << kUp>(v);
            u[4 * h + 3] = bits_of<kUp - 6, 3 << kUp>(v);
        }
    } else {
        MIXTURA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const __m256i v = load_32(codes + 64 * i);
            u[i] = bits_of<kUp, 15 << kUp>(v);
            u[4 + i] = bits_of<kUp - 4, 15 << kUp>(v);
        }
    }
    if constexpr (kBits == 3 || kBits == 5) {
        constexpr int kPlace = kBits - 1, kTo = kPlace + kUp, kBit = 1 << kTo;
        const __m256i v = load_32(codes + 64 * kPlace);
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
            const __m256i v = load_32(codes + 64 * (4 + h));
            u[4 * h] = with_bits<kTo, kPair>(u[4 * h], v);
            u[4 * h + 1] = with_bits<kTo - 2, kPair>(u[4 * h + 1], v);
            u[4 * h + 2] = with_bits<kTo - 4, kPair>(u[4 * h + 2], v);
            u[4 * h + 3] = with_bits<kTo - 6, kPair>(u[4 * h + 3], v);
        }
    }
    if constexpr (kFormat<kDType>.steps != nullptr) {
        const __m256i steps = _mm256_broadcastsi128_si256(
            _mm_load_si128(reinterpret_cast<const __m128i*>(detail::kStepTable<kDType>.bytes)));
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm256_shuffle_epi8(steps, u[i]);
    }
    if constexpr (kFormat<kDType>.has_zero_points) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm256_add_epi8(u[i], zeros);
    }
    if constexpr (kSigned<kDType>) {
        MIXTURA_UNROLL
        for (int i = 0; i < 8; ++i) u[i] = _mm256_xor_si256(u[i], _mm256_set1_epi8(-128));  // u - 128
    }
}

MIXTURA_TILE __m256i four_of(const std::int8_t* activations) {
    int four;
    __builtin_memcpy(&four, activations, 4);
    return _mm256_set1_epi32(four);
}

// sum + 2^kLift · Σ over operands kFirst to kLast - 1 of weight · activation, one 32-bit sum a row.
template <DType kDType, int kFirst, int kLast>
MIXTURA_TILE __m256i dot(__m256i sum, const __m256i (&u)[8], const std::int8_t* activations) {
#if MIXTURA_BODY_VNNI
    MIXTURA_UNROLL
    for (int i = kFirst; i < kLast; ++i) sum = MIXTURA_BODY_DPBUSD(sum, u[i], four_of(activations + 4 * i));
#else
    const __m256i lift =
        _mm256_set1_epi16(1 << (kSigned<kDType> ? 0 : kLift<kDType>));  // 2^kLift comes in here, past the 16-bit sums
    if constexpr (kSigned<kDType>) {
        MIXTURA_UNROLL
        for (int i = kFirst; i < kLast; ++i) {
            const __m256i signed_activations = _mm256_sign_epi8(four_of(activations + 4 * i), u[i]);
            const __m256i words = _mm256_maddubs_epi16(_mm256_abs_epi8(u[i]), signed_activations);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(words, lift));
        }
    } else {
        constexpr int kTogether = kSumsTogether<kDType> < kLast - kFirst ? kSumsTogether<kDType> : kLast - kFirst;
        MIXTURA_UNROLL
        for (int i = kFirst; i < kLast; i += kTogether) {
            __m256i words = _mm256_maddubs_epi16(u[i], four_of(activations + 4 * i));
            MIXTURA_UNROLL
            for (int j = i + 1; j < i + kTogether; ++j) {
                words = _mm256_add_epi16(words, _mm256_maddubs_epi16(u[j], four_of(activations + 4 * j)));
            }
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(words, lift));
        }
    }
#endif
    return sum;
}

// s / 2^kLift (in `d` already), -kSumBase · s / 2^kLift, and m of the groups of 32 columns; m with the sign the file
// has (q4_1, q5_1: minus the formula's).
struct Scales {
    __m256 scale[2], base[2], minimum[2];
};
template <DType kDType>
MIXTURA_TILE void read_scales(__m256 d, __m256 dmin, const std::byte* group_codes, Scales& s) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    if constexpr (!kF.has_group_codes) {
        s.scale[0] = d;
        s.minimum[0] = dmin;
    } else if constexpr (kTwoGroups<kDType> && kF.has_minimum) {
        const __m128i fifteen = _mm_set1_epi8(15);
        MIXTURA_UNROLL
        for (int j = 0; j < 2; ++j) {
            const __m128i both = load_8(group_codes + 16 * j);
            s.scale[j] = _mm256_mul_ps(d, unsigned_lanes(_mm_and_si128(both, fifteen)));
            s.minimum[j] = _mm256_mul_ps(dmin, unsigned_lanes(_mm_and_si128(_mm_srli_epi16(both, 4), fifteen)));
        }
    } else {
        s.scale[0] = _mm256_mul_ps(d, signed_lanes(load_8(group_codes)));
        if constexpr (kTwoGroups<kDType>) s.scale[1] = _mm256_mul_ps(d, signed_lanes(load_8(group_codes + 16)));
        if constexpr (kF.has_minimum) s.minimum[0] = _mm256_mul_ps(dmin, unsigned_lanes(load_8(group_codes + 16)));
    }
}

template <DType kDType>
MIXTURA_TILE void set_bases(Scales& s) {
    s.base[0] = _mm256_mul_ps(_mm256_set1_ps(-kSumBase), s.scale[0]);
    if constexpr (kTwoGroups<kDType>) s.base[1] = _mm256_mul_ps(_mm256_set1_ps(-kSumBase), s.scale[1]);
}

// What the sum of a group starts at: kSumBase as an integer, less what the offset adds.
template <DType kDType>
MIXTURA_TILE __m256i start_of(const std::int32_t& start) {
    return _mm256_set1_epi32(kHasOffset<kDType> && !kSigned<kDType> ? start : kSumBaseBits);
}

// add_group of ref/, 8 rows at once.
template <DType kDType, int kGroup>
MIXTURA_TILE __m256 add_group(__m256i sum, const Scales& s, float d, float scaled_sum, __m256 y) {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    __m256 term;
    if constexpr (kF.has_exponent_scale) {
        term = _mm256_mul_ps(_mm256_sub_ps(_mm256_castsi256_ps(sum), _mm256_set1_ps(kSumBase)), s.scale[kGroup]);
    } else {
        term = _mm256_fmadd_ps(_mm256_castsi256_ps(sum), s.scale[kGroup], s.base[kGroup]);
    }
    y = _mm256_fmadd_ps(term, _mm256_set1_ps(d), y);
    if constexpr (!kF.has_minimum) return y;
    if constexpr (kF.has_group_codes) return _mm256_fnmadd_ps(s.minimum[kGroup], _mm256_set1_ps(scaled_sum), y);
    return _mm256_fmadd_ps(s.minimum[kGroup], _mm256_set1_ps(scaled_sum), y);
}

// 32 columns more of 8 rows.
template <DType kDType>
MIXTURA_TILE __m256 add_block(const __m256i (&u)[8], const Scales& s, const ActivationBlock& x, __m256 y) {
    if constexpr (kTwoGroups<kDType>) {
        y = add_group<kDType, 0>(dot<kDType, 0, 4>(start_of<kDType>(x.start_low), u, x.q), s, x.d, x.scaled_sum_low, y);
        return add_group<kDType, 1>(dot<kDType, 4, 8>(start_of<kDType>(x.start_high), u, x.q), s, x.d,
                                    x.scaled_sum_high, y);
    } else {
        return add_group<kDType, 0>(dot<kDType, 0, 8>(start_of<kDType>(x.start), u, x.q), s, x.d, x.scaled_sum, y);
    }
}

template <DType kDType, int kTokens, int kHalf>
MIXTURA_BODY_TARGET void half_tile(const std::byte* panel, std::int64_t columns, const void* const* x,
                                   float* const* y) noexcept {
    constexpr const IntegerFormat& kF = kFormat<kDType>;
    constexpr IntegerPanel kP = kPanel<kDType>;
    __m256 f[kTokens];
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) f[t] = _mm256_setzero_ps();
    std::int64_t offset_bytes = 0;  // of this block in a row of ActivationBlocks
    for (std::int64_t k = 0; k < columns; k += kF.unit_columns, panel += kP.unit_bytes) {
        __m256 d = kF.has_exponent_scale ? exponent_lanes(panel + 8 * kHalf) : f16_lanes(panel + 16 * kHalf);
        if constexpr (kLift<kDType> != 0) d = _mm256_mul_ps(d, _mm256_set1_ps(1.0F / (1 << kLift<kDType>)));
        const __m256 dmin = kF.has_minimum ? f16_lanes(panel + kP.minimum_bytes + 16 * kHalf) : d;
        const __m256i zeros = zero_shift<kDType>(panel + kP.zero_bytes + 8 * kHalf);
        const std::byte* block = panel + kP.header_bytes;
        for (std::int64_t b = 0; b < kF.unit_columns / kBlockColumns; ++b, block += kP.block_bytes) {
            if constexpr (kHalf == 0) {  // the second half finds the panel in the cache
                MIXTURA_UNROLL
                for (std::int64_t line = 0; line < kP.block_bytes; line += 64) {
                    _mm_prefetch(reinterpret_cast<const char*>(block) + 4096 + line, _MM_HINT_T0);
                }
            }
            Scales scales;
            read_scales<kDType>(d, dmin, block + 8 * kHalf, scales);
            set_bases<kDType>(scales);
            __m256i u[8];
            unpack<kDType>(block + kP.group_code_bytes + 32 * kHalf, zeros, u);
            MIXTURA_UNROLL
            for (int t = 0; t < kTokens; ++t) {
                const auto& activations =
                    *reinterpret_cast<const ActivationBlock*>(static_cast<const std::byte*>(x[t]) + offset_bytes);
                f[t] = add_block<kDType>(u, scales, activations, f[t]);
            }
            offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        }
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTokens; ++t) _mm256_storeu_ps(y[t] + 8 * kHalf, f[t]);
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

void fill_integer(KernelTable& table) noexcept {
    detail::fill_integer_products(table, []<DType kDType>() -> PanelProductFunction { return product<kDType>; });
}

#undef MIXTURA_TILE
