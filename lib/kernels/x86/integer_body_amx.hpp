// Products of integer formats on AMX tiles, for prompts: 16 rows x 16 tokens at once, the rest of the tokens as AVX-512
// VNNI has them.  Included by integer_amx.cpp with the processor's tiles and by tests/support/ with tiles that are
// played, each in its namespace, with MIXTURA_BODY_TARGET defined and Tiles declared; so this file has no include
// guard.
//
// One tdpbsud gives the sums of a group of 32 (or 16) columns for 16 rows and 16 tokens: the weights' operand i is row
// i of its third tile as layout.hpp has it, the activations' q are the rows of the second.  A group's sum must be
// scaled before the next is added, so no tile takes more columns than a group has, and each group's sums go by way of
// memory to the float steps, which are those of AVX-512 VNNI.  The sums are exact, so are the bits the same.
//
// Per 32 columns and 16 tokens that is 16 float steps of 3 to 5 instructions and 32 moves where AVX-512 VNNI has 128
// vpdpbusd more: an estimate of about twice its rate.  No processor with AMX was at hand to measure it.

using avx512::Scales;
using detail::kFormat;
using detail::kPanel;
using detail::kTwoGroups;

constexpr std::int64_t kTileTokens = kTileRows;
// A tile's cost does not fall with its tokens; beside some 11 cycles a token and 32 columns of AVX-512 VNNI (8 of them
// vpdpbusd) one of 16 tokens should cost about 90.
constexpr std::int64_t kTokensLeast = 9;
constexpr std::int64_t kPieceColumns = kUnitColumnsMax, kPieceBlocks = kPieceColumns / kBlockColumns;
constexpr std::int64_t kPrefetchBytes = 6144;

enum TileRegister { kSums = 0, kSumsHigh = 1, kTokens = 2, kTokensHigh = 3, kWeights = 4, kWeightsHigh = 5 };

constexpr TileShapes tile_shapes(int group_columns) noexcept {
    TileShapes shapes;
    for (const int tile : {kSums, kSumsHigh, kTokens, kTokensHigh}) shapes.rows[tile] = kTileRows;
    for (const int tile : {kSums, kSumsHigh, kWeights, kWeightsHigh}) shapes.row_bytes[tile] = kTileRowBytes;
    for (const int tile : {kTokens, kTokensHigh}) shapes.row_bytes[tile] = static_cast<std::uint16_t>(group_columns);
    for (const int tile : {kWeights, kWeightsHigh}) shapes.rows[tile] = static_cast<std::uint8_t>(group_columns / 4);
    return shapes;
}
template <DType kDType>
constexpr TileShapes kTileShapes = tile_shapes(static_cast<int>(kFormat<kDType>.group_columns));

// Up to 256 columns of a panel, unpacked once for all tokens: 7 KiB.
struct Piece {
    alignas(64) std::uint8_t codes[kPieceBlocks][8][kOperandBytes];
    Scales scales[kPieceBlocks];
};

struct alignas(64) Scratch {
    Piece piece;
    // Of two blocks, so that tiles can work on the next one during the float steps of the last.  The activations are
    // copied: rows of 2,048 columns lie 4 KiB apart, and 16 of those are more than one set of a 12-way L1 takes.
    ActivationBlock x[2][kTileTokens];
    std::int32_t sums[2][2][kTileTokens][kPanelRows];  // of a block's first or only group, of its second
    float nobody[kPanelRows];                          // outputs of rows of a tile that hold no token
};

// `blocks` blocks from `unit` on; returns the unit behind them.
template <DType kDType>
MIXTURA_BODY_TARGET const std::byte* unpack_piece(const std::byte* unit, std::int64_t blocks, Piece& piece) noexcept {
    constexpr IntegerPanel kP = kPanel<kDType>;
    constexpr std::int64_t kUnitBlocks = kFormat<kDType>.unit_columns / kBlockColumns;
    for (std::int64_t first = 0; first < blocks; first += kUnitBlocks, unit += kP.unit_bytes) {
        __m512 d, dmin;
        __m512i zeros;
        avx512::read_header<kDType>(unit, d, dmin, zeros);
        const std::byte* block = unit + kP.header_bytes;
        for (std::int64_t b = first; b < first + kUnitBlocks; ++b, block += kP.block_bytes) {
            MIXTURA_UNROLL
            for (std::int64_t line = 0; line < kP.block_bytes; line += 64) {
                _mm_prefetch(reinterpret_cast<const char*>(block) + kPrefetchBytes + line, _MM_HINT_T0);
            }
            avx512::read_scales<kDType>(d, dmin, block, piece.scales[b]);
            avx512::set_bases<kDType>(piece.scales[b]);
            __m512i u[8];
            avx512::unpack<kDType>(block + kP.group_code_bytes, zeros, u);
            MIXTURA_UNROLL
            for (int i = 0; i < 8; ++i) _mm512_store_si512(piece.codes[b][i], u[i]);
        }
    }
    return unit;
}

// The block `offset_bytes` into each token's activations times block b of the piece, into the scratch's half b % 2.
template <DType kDType>
MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE void sum_block(Tiles& tiles, Scratch& s, std::int64_t b, const void* const* x,
                                                         std::int64_t offset_bytes) {
    ActivationBlock(&tokens)[kTileTokens] = s.x[b % 2];
    MIXTURA_UNROLL
    for (int t = 0; t < kTileTokens; ++t) {
        _mm512_store_si512(&tokens[t], _mm512_loadu_si512(static_cast<const std::byte*>(x[t]) + offset_bytes));
    }
    constexpr std::int64_t kStride = sizeof(ActivationBlock);
    tiles.zero<kSums>();
    tiles.load<kTokens>(tokens[0].q, kStride);
    tiles.load<kWeights>(s.piece.codes[b][0], kOperandBytes);
    tiles.dot<kSums, kTokens, kWeights>();
    tiles.store<kSums>(s.sums[b % 2][0], kTileRowBytes);
    if constexpr (kTwoGroups<kDType>) {
        tiles.zero<kSumsHigh>();
        tiles.load<kTokensHigh>(tokens[0].q + 16, kStride);
        tiles.load<kWeightsHigh>(s.piece.codes[b][4], kOperandBytes);
        tiles.dot<kSumsHigh, kTokensHigh, kWeightsHigh>();
        tiles.store<kSumsHigh>(s.sums[b % 2][1], kTileRowBytes);
    }
}

// 32 columns more of 16 rows of one token; add_block of AVX-512 VNNI with the sums given.
template <DType kDType>
MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE __m512 add_sums(const Scratch& s, std::int64_t b, int t, __m512 y) {
    const ActivationBlock& x = s.x[b % 2][t];
    const Scales& scales = s.piece.scales[b];
    __m512i sum = _mm512_load_si512(s.sums[b % 2][0][t]);
    if constexpr (!kTwoGroups<kDType>) {
        sum = _mm512_add_epi32(sum, avx512::start_of<kDType>(x.start));
        return avx512::add_group<kDType, 0>(sum, scales, x.d, x.scaled_sum, y);
    }
    sum = _mm512_add_epi32(sum, avx512::start_of<kDType>(x.start_low));
    y = avx512::add_group<kDType, 0>(sum, scales, x.d, x.scaled_sum_low, y);
    sum = _mm512_add_epi32(_mm512_load_si512(s.sums[b % 2][1][t]), avx512::start_of<kDType>(x.start_high));
    return avx512::add_group<kDType, 1>(sum, scales, x.d, x.scaled_sum_high, y);
}

// The piece's columns more of 16 rows of 16 tokens.
template <DType kDType>
MIXTURA_BODY_TARGET void add_piece(Tiles& tiles, Scratch& s, std::int64_t blocks, const void* const* x,
                                   std::int64_t offset_bytes, bool is_first, float* const* y) noexcept {
    __m512 f[kTileTokens];
    MIXTURA_UNROLL
    for (int t = 0; t < kTileTokens; ++t) f[t] = is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(y[t]);
    sum_block<kDType>(tiles, s, 0, x, offset_bytes);
    for (std::int64_t b = 0; b < blocks; ++b) {
        offset_bytes += static_cast<std::int64_t>(sizeof(ActivationBlock));
        if (b + 1 < blocks) sum_block<kDType>(tiles, s, b + 1, x, offset_bytes);
        MIXTURA_UNROLL
        for (int t = 0; t < kTileTokens; ++t) f[t] = add_sums<kDType>(s, b, t, f[t]);
    }
    MIXTURA_UNROLL
    for (int t = 0; t < kTileTokens; ++t) _mm512_storeu_ps(y[t], f[t]);
}

// The first `tokens` tokens; in the last 16 of them missing ones are played by the last, whose outputs nobody wants.
template <DType kDType>
MIXTURA_BODY_TARGET void multiply(const PanelProduct& p, std::int64_t tokens) noexcept {
    Scratch scratch;
    Tiles tiles;
    tiles.configure(kTileShapes<kDType>);
    for (std::int64_t panel = 0; panel < p.panel_count; ++panel) {
        const std::byte* unit = p.panels + panel * p.panel_bytes;
        for (std::int64_t k = 0; k < p.columns; k += kPieceColumns) {
            const std::int64_t columns = p.columns - k < kPieceColumns ? p.columns - k : kPieceColumns;
            unit = unpack_piece<kDType>(unit, columns / kBlockColumns, scratch.piece);
            for (std::int64_t first = 0; first < tokens; first += kTileTokens) {
                const void* x[kTileTokens];
                float* y[kTileTokens];
                for (std::int64_t t = 0; t < kTileTokens; ++t) {
                    const bool is_there = first + t < tokens;
                    x[t] = p.x[is_there ? first + t : tokens - 1];
                    y[t] = is_there ? p.y[first + t] + panel * kPanelRows : scratch.nobody;
                }
                add_piece<kDType>(tiles, scratch, columns / kBlockColumns, x,
                                  k / kBlockColumns * static_cast<std::int64_t>(sizeof(ActivationBlock)), k == 0, y);
            }
        }
    }
    tiles.release();
}

// Products that AVX-512 VNNI does; the other entries are empty.
const KernelTable& narrower() noexcept {
    static const KernelTable table = [] {
        KernelTable products{};
        avx512::fill_integer_products_vnni(products);
        return products;
    }();
    return table;
}

// kIsChecked: tiles are used only where tiles_work().
template <DType kDType, bool kIsChecked>
void product(const PanelProduct& p) noexcept {
    const std::int64_t rest = p.token_count % kTileTokens;
    std::int64_t on_tiles = p.columns == 0 ? 0 : rest < kTokensLeast ? p.token_count - rest : p.token_count;
    if constexpr (kIsChecked) {
        if (on_tiles > 0 && !tiles_work()) on_tiles = 0;
    }
    if (on_tiles > 0) multiply<kDType>(p, on_tiles);
    if (on_tiles == p.token_count) return;
    PanelProduct others = p;
    others.x += on_tiles;
    others.y += on_tiles;
    others.token_count -= on_tiles;
    narrower().product[product_index(kDType)](others);
}

template <bool kIsChecked>
void fill_integer(KernelTable& table) noexcept {
    detail::fill_integer_products(table,
                                  []<DType kDType>() -> PanelProductFunction { return product<kDType, kIsChecked>; });
}
