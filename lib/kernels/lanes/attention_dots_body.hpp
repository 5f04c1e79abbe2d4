// Rows of the cache and their dot products with queries, for attention_body.hpp, on sixteen lanes.  Included once per
// instruction set, inside its namespace, before that file, with MIXTURA_BODY_TARGET defined; so there is no include
// guard.
//
// Two ways to the same bits.  With few queries lanes run along the width: eight dot products share a query's loads and
// their trees are done together.  With many, a tile of keys is turned first (16 x 16 numbers in 96 steps, shared by all
// queries), and lanes are keys: one virtual accumulator after the other is summed for some queries and keys in
// registers, and the tree 8-4-2-1 becomes additions of whole registers, 15 beside the `width` fused steps, where lanes
// along the width need 45 steps for sixteen trees.

#define MIXTURA_BODY MIXTURA_BODY_TARGET static
#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

constexpr std::int64_t kTileFloats = 32 * 512;  // 64 KiB of stack, of which heads of 128 touch 16

// Neighbouring positions of one page as f32: rows where they lie or widened copies padded with zeros to whole
// registers; or a tile of keys, turned, [width, 16 · lanes of keys].
struct TileRows {
    const float* row[kCacheBlockTokens];
    alignas(64) float copies[kTileFloats];
};

MIXTURA_BODY_INLINE std::int64_t whole_registers(std::int64_t width) { return (width + 15) / 16 * 16; }

// Rows read at once: a page's, or half of it where they are wide.
MIXTURA_BODY_INLINE std::int64_t tile_rows(std::int64_t width) {
    return whole_registers(width) * kCacheBlockTokens <= kTileFloats ? kCacheBlockTokens : kCacheBlockTokens / 2;
}

struct Range {
    std::int64_t first, last;
};

// The part of `range` in [base, base + count).
MIXTURA_BODY_INLINE Range within(Range range, std::int64_t base, std::int64_t count) {
    return {range.first > base ? range.first : base, range.last < base + count ? range.last : base + count};
}

// What every code of a row in f8_e4m3, read as code · 2^-8, is multiplied with.
MIXTURA_BODY_INLINE Lanes f8_factor(const std::byte* row) {
    float scale;
    __builtin_memcpy(&scale, row, sizeof scale);
    return broadcast(scale * 0x1p8F);
}

// Sixteen elements of a row from a multiple of 16 on.
MIXTURA_BODY_INLINE Lanes load_lanes(DType dtype, const std::byte* row, std::int64_t lane) {
    if (dtype == DType::f32) return load(reinterpret_cast<const float*>(row) + lane);
    if (dtype == DType::f16) return load_f16(row + 2 * lane);
    if (dtype == DType::bf16) return load_bf16(row + 2 * lane);
    if (dtype == DType::f8_e4m3) return mul(load_e4m3(row + kF8ScaleBytes + lane), f8_factor(row));
    const std::byte* block = row + lane / kQ8Elements * kQ8BlockBytes;
    return mul(load_i8(block + kQ8ScaleBytes + lane % kQ8Elements), broadcast_f16(block));
}

MIXTURA_BODY_INLINE const std::byte* page_of(const AttentionSplit& split, const PagedRows& rows, std::int64_t base) {
    return rows.base + split.block_table[base / kCacheBlockTokens] * rows.block_stride_bytes;
}

MIXTURA_BODY void widen_row(DType dtype, const std::byte* row, std::int64_t width, float* out) noexcept {
    std::int64_t d = 0;
    if (dtype == DType::f16) {  // asked once a row, not once a register: a tenth of decoding on AVX2
        for (; d + 16 <= width; d += 16) store(out + d, load_f16(row + 2 * d));
    } else if (dtype == DType::f8_e4m3) {
        const Lanes factor = f8_factor(row);
        for (; d + 16 <= width; d += 16) store(out + d, mul(load_e4m3(row + kF8ScaleBytes + d), factor));
    } else if (dtype == DType::q8_0) {
        const std::byte* block = row;
        for (; d + kQ8Elements <= width; d += kQ8Elements, block += kQ8BlockBytes) {
            const Lanes factor = broadcast_f16(block);
            store(out + d, mul(load_i8(block + kQ8ScaleBytes), factor));
            store(out + d + 16, mul(load_i8(block + kQ8ScaleBytes + 16), factor));
        }
    }
    for (; d + 16 <= width; d += 16) store(out + d, load_lanes(dtype, row, d));
    if (d == width) return;
    load_cache_row(dtype, row, d, width - d, out + d);
    for (std::int64_t k = width; k % 16 != 0; ++k) out[k] = 0.0F;
}

// Rows of the positions `range`, all of one page, in tile.row[position - base] on.
MIXTURA_BODY void read_rows(const AttentionSplit& split, const PagedRows& rows, DType dtype, std::int64_t width,
                            std::int64_t base, Range range, TileRows& tile) noexcept {
    const std::int64_t stride = whole_registers(width);
    const std::byte* page = page_of(split, rows, base);
    const bool as_it_is = dtype == DType::f32 && width % 16 == 0;
    for (std::int64_t p = range.first; p < range.last; ++p) {
        const std::byte* row = page + p % kCacheBlockTokens * rows.token_stride_bytes;
        float* copy = tile.copies + (p - base) * stride;
        if (!as_it_is) widen_row(dtype, row, width, copy);
        tile.row[p - base] = as_it_is ? reinterpret_cast<const float*>(row) : copy;
    }
}

// dots[i] = query · keys[i] for eight keys.
MIXTURA_BODY void eight_dots(const float* query, const float* const* keys, std::int64_t width, float* dots) noexcept {
    Lanes sum[8];
    MIXTURA_UNROLL
    for (int i = 0; i < 8; ++i) sum[i] = broadcast(0.0F);
    MIXTURA_UNROLL
    for (int half = 0; half < 8; half += kDotsAtOnce) {
        std::int64_t d = 0;
        for (; d + 16 <= width; d += 16) {
            const Lanes q = load(query + d);
            MIXTURA_UNROLL
            for (int i = half; i < half + kDotsAtOnce; ++i) sum[i] = fma(q, load(keys[i] + d), sum[i]);
        }
        if (d == width) continue;
        const Mask rest = first_lanes(width - d);
        const Lanes q = load_first(query + d, rest);
        MIXTURA_UNROLL
        for (int i = half; i < half + kDotsAtOnce; ++i)
            sum[i] = select(rest, fma(q, load(keys[i] + d), sum[i]), sum[i]);
    }
    tree_sums(sum, dots);
}

// Few queries: the keys of `range` in `rows`, which start at position base; eights that touch the range are written
// whole.
MIXTURA_BODY void dots_along_width(const AttentionSplit& split, const TileRows& tile, std::int64_t base, Range range,
                                   float (*scores)[kSplitTokens]) noexcept {
    for (std::int64_t eight = range.first / 8 * 8; eight < range.last; eight += 8) {
        const float* keys[8];  // beside the range: some row, so that eight can always be read
        for (std::int64_t i = 0; i < 8; ++i) {
            const std::int64_t p = eight + i;
            keys[i] = tile.row[(p < range.first ? range.first : p >= range.last ? range.last - 1 : p) - base];
        }
        for (std::int64_t i = 0; i < split.query_count; ++i)
            eight_dots(split.queries[i].query, keys, split.key_width, scores[i] + (eight - split.split_first));
    }
}

// Sixteen keys from position base on into turned[k · stride + key]; those beside the range are copies of one in it.
MIXTURA_BODY void turn_keys(const AttentionSplit& split, std::int64_t base, Range range, float* turned,
                            std::int64_t stride) noexcept {
    const std::byte* page = page_of(split, split.keys, base);
    const std::int64_t width = split.key_width;
    const std::byte* row[16];
    for (std::int64_t i = 0; i < 16; ++i) {
        const std::int64_t p = base + i, near = p < range.first ? range.first : p >= range.last ? range.last - 1 : p;
        row[i] = page + near % kCacheBlockTokens * split.keys.token_stride_bytes;
    }
    alignas(64) float block[16 * 16];
    std::int64_t k = 0;
    for (; k + 16 <= width; k += 16) {
        for (int i = 0; i < 16; ++i) store(block + 16 * i, load_lanes(split.key_dtype, row[i], k));
        transpose(block, turned + k * stride, stride);
    }
    if (k == width) return;
    for (int i = 0; i < 16; ++i) {
        store(block + 16 * i, broadcast(0.0F));
        load_cache_row(split.key_dtype, row[i], k, width - k, block + 16 * i);
    }
    transpose(block, turned + k * stride, stride);
}

// dots[q][key] for kTileQueries queries and 16 · kKeyLanes turned keys.
template <int kKeyLanes>
MIXTURA_BODY void tile_dots(const float* const* queries, const float* turned, std::int64_t width,
                            float* const* dots) noexcept {
    // The tree, leaves from left to right: i + 8 after i, i + 4 after both, and so on; `left` holds finished left
    // halves.
    static constexpr int kLeaves[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    alignas(64) float left[4][kTileQueries * kKeyLanes * 16];
    // Unrolled, or branches of the levels are guessed wrong: a quarter more time.
    MIXTURA_UNROLL
    for (int leaf = 0; leaf < 16; ++leaf) {
        Lanes sum[kTileQueries][kKeyLanes];
        MIXTURA_UNROLL
        for (int q = 0; q < kTileQueries; ++q) {
            MIXTURA_UNROLL
            for (int l = 0; l < kKeyLanes; ++l) sum[q][l] = broadcast(0.0F);
        }
        for (std::int64_t k = kLeaves[leaf]; k < width; k += 16) {
            Lanes key[kKeyLanes];
            MIXTURA_UNROLL
            for (int l = 0; l < kKeyLanes; ++l) key[l] = load(turned + (k * kKeyLanes + l) * 16);
            MIXTURA_UNROLL
            for (int q = 0; q < kTileQueries; ++q) {
                const Lanes x = broadcast(queries[q][k]);
                MIXTURA_UNROLL
                for (int l = 0; l < kKeyLanes; ++l) sum[q][l] = fma(x, key[l], sum[q][l]);
            }
        }
        int level = 0;
        for (; (leaf >> level & 1) != 0; ++level) {
            MIXTURA_UNROLL
            for (int q = 0; q < kTileQueries; ++q) {
                MIXTURA_UNROLL
                for (int l = 0; l < kKeyLanes; ++l)
                    sum[q][l] = add(load(left[level] + (q * kKeyLanes + l) * 16), sum[q][l]);
            }
        }
        MIXTURA_UNROLL
        for (int q = 0; q < kTileQueries; ++q) {
            MIXTURA_UNROLL
            for (int l = 0; l < kKeyLanes; ++l)
                store(level < 4 ? left[level] + (q * kKeyLanes + l) * 16 : dots[q] + 16 * l, sum[q][l]);
        }
    }
}

// Many queries: the keys of `range` in the `count` positions from base on; a query's sixteens of them are written whole
// if it sees any.
MIXTURA_BODY void dots_along_keys(const AttentionSplit& split, const Range* ranges, std::int64_t base,
                                  std::int64_t count, Range range, TileRows& tile,
                                  float (*scores)[kSplitTokens]) noexcept {
    const std::int64_t lanes = count == 16 * kTileKeyLanes ? kTileKeyLanes : 1;
    const std::int64_t panel = whole_registers(split.key_width) * 16 * lanes;
    for (std::int64_t key = 0; key < count; key += 16) {
        float* to = tile.copies + key / (16 * lanes) * panel + key % (16 * lanes);
        turn_keys(split, base + key, range, to, 16 * lanes);
    }
    for (std::int64_t i = 0; i < split.query_count; i += kTileQueries) {
        const float* queries[kTileQueries];
        float* dots[kTileQueries];
        bool any_sees = false;
        for (std::int64_t q = 0; q < kTileQueries; ++q) {  // the last few: the last query again and again
            const std::int64_t at = i + q < split.query_count ? i + q : split.query_count - 1;
            queries[q] = split.queries[at].query;
            dots[q] = scores[at] + (base - split.split_first);
            const Range seen = within(ranges[at], base, count);
            any_sees = any_sees || seen.first < seen.last;
        }
        if (!any_sees) continue;
        if (lanes == kTileKeyLanes) {
            for (std::int64_t key = 0; key < count; key += 16 * lanes) {
                tile_dots<kTileKeyLanes>(queries, tile.copies + key / (16 * lanes) * panel, split.key_width, dots);
                for (int q = 0; q < kTileQueries; ++q) dots[q] += 16 * lanes;
            }
        } else {
            tile_dots<1>(queries, tile.copies, split.key_width, dots);
        }
    }
}

#undef MIXTURA_BODY_INLINE
#undef MIXTURA_BODY
