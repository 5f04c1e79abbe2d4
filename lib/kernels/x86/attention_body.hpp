// Attention on sixteen lanes: the steps of ref/attention_ref.cpp.  Included once per instruction set, inside its
// namespace, after its Lanes and math_body.hpp, with MIXTURA_BODY_TARGET defined; so this file has no include guard.
//
// Keys go eight at a time: they are read (and widened) once for all queries, each query's eight dot products share the
// query's loads, and their trees are done together.  Values go eight at a time too, some queries by some registers of
// output at once (as many as the instruction set has registers for); the outputs rest in memory between two eights,
// which changes no bit of their chains.

#define MIXTURA_BODY MIXTURA_BODY_TARGET static
#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

constexpr std::int64_t kRowsAtOnce = 8;

// Eight rows of the cache as f32: where they lie, or widened copies padded with zeros to whole registers.
struct EightRows {
    const float* row[kRowsAtOnce];
    alignas(64) float copies[kRowsAtOnce * kHeadWidthMax];
};

MIXTURA_BODY_INLINE Lanes load_lanes(DType dtype, const std::byte* row, std::int64_t lane) {
    if (dtype == DType::f16) return load_f16(row + 2 * lane);
    return load_bf16(row + 2 * lane);
}

MIXTURA_BODY void widen_row(DType dtype, const std::byte* row, std::int64_t width, float* out) noexcept {
    std::int64_t d = 0;
    if (dtype != DType::f32) {
        for (; d + 16 <= width; d += 16) store(out + d, load_lanes(dtype, row, d));
    }
    const std::int64_t element_bytes = dtype == DType::f32 ? 4 : 2;
    if (d == width) return;
    ref::load_row(dtype, row + d * element_bytes, width - d, out + d);
    for (std::int64_t k = width; k % 16 != 0; ++k) out[k] = 0.0F;
}

// Rows of positions [first, last), all of one page, in eights[first - base] on; the other entries point at some row, so
// that eight can always be read.
MIXTURA_BODY void read_rows(const AttentionSplit& split, const PagedRows& rows, std::int64_t width, std::int64_t base,
                            std::int64_t first, std::int64_t last, EightRows& eight) noexcept {
    const std::int64_t stride = (width + 15) / 16 * 16;
    const std::byte* page = rows.base + split.block_table[base / kCacheBlockTokens] * rows.block_stride_bytes;
    for (std::int64_t p = first; p < last; ++p) {
        const std::byte* row = page + p % kCacheBlockTokens * rows.token_stride_bytes;
        float* copy = eight.copies + (p - base) * stride;
        const bool as_it_is = split.dtype == DType::f32 && width % 16 == 0;
        if (!as_it_is) widen_row(split.dtype, row, width, copy);
        eight.row[p - base] = as_it_is ? reinterpret_cast<const float*>(row) : copy;
    }
    for (std::int64_t i = 0; i < kRowsAtOnce; ++i) {
        if (base + i < first || base + i >= last) eight.row[i] = eight.row[first - base];
    }
}

MIXTURA_BODY void eight_dots(const float* query, const EightRows& keys, std::int64_t width, float* dots) noexcept {
    Lanes sum[kRowsAtOnce];
    MIXTURA_UNROLL
    for (int i = 0; i < 8; ++i) sum[i] = broadcast(0.0F);
    MIXTURA_UNROLL
    for (int half = 0; half < 8; half += kDotsAtOnce) {
        std::int64_t d = 0;
        for (; d + 16 <= width; d += 16) {
            const Lanes q = load(query + d);
            MIXTURA_UNROLL
            for (int i = half; i < half + kDotsAtOnce; ++i) sum[i] = fma(q, load(keys.row[i] + d), sum[i]);
        }
        if (d == width) continue;
        const Mask rest = first_lanes(width - d);
        const Lanes q = load_first(query + d, rest);
        MIXTURA_UNROLL
        for (int i = half; i < half + kDotsAtOnce; ++i)
            sum[i] = select(rest, fma(q, load(keys.row[i] + d), sum[i]), sum[i]);
    }
    tree_sums(sum, dots);
}

// Turns dot products into weights e^(s - m) in place; `weights` starts at split_first, only [first, last) counts.
MIXTURA_BODY AttentionPartial weigh(const AttentionSplit& split, const AttentionQuery& query, std::int64_t first,
                                    std::int64_t last, float* weights) noexcept {
    const Lanes factor = broadcast(split.scale), cap = broadcast(split.soft_cap), slope = broadcast(query.slope);
    const Lanes lowest = broadcast(-__builtin_inff());
    const std::int64_t begin = (first - split.split_first) / 16 * 16, end = last - split.split_first;
    Lanes largest = lowest;
    for (std::int64_t k = begin; k < end; k += 16) {
        Lanes score = mul(load(weights + k), factor);
        if (split.soft_cap > 0.0F) score = mul(cap, tanh(div(score, cap)));
        if (query.slope != 0.0F) {
            const auto distance = static_cast<float>(split.split_first + k - query.position);
            score = fma(slope, add(broadcast(distance), lane_numbers()), score);
        }
        store(weights + k, score);
        const Mask seen = lanes_between(first - split.split_first - k, end - k);
        largest = larger(select(seen, score, lowest), largest);
    }
    const float maximum = largest_lane(largest) + 0.0F;
    Lanes sum = broadcast(0.0F);
    for (std::int64_t k = begin; k < end; k += 16) {
        const Lanes weight = exp(sub(load(weights + k), broadcast(maximum)));
        store(weights + k, weight);
        sum = select(lanes_between(first - split.split_first - k, end - k), add(sum, weight), sum);
    }
    return {.maximum = maximum, .sum = tree_sum(sum), .output = nullptr};
}

// output[d] = fma(weight[p], row[p][d], output[d]) for p in [first, last) of the eight, kQueries queries together.
template <int kQueries>
MIXTURA_BODY void add_rows(const EightRows& values, std::int64_t first, std::int64_t last, std::int64_t width,
                           const float* const* weights, float* const* outputs) noexcept {
    for (std::int64_t d = 0; d < width; d += 16 * kLanesAtOnce) {
        Lanes o[kQueries][kLanesAtOnce];
        Mask lanes[kLanesAtOnce];
        MIXTURA_UNROLL
        for (int j = 0; j < kLanesAtOnce; ++j) {
            const std::int64_t left = width - d - 16 * j;
            lanes[j] = first_lanes(left <= 0 ? 0 : left < 16 ? left : 16);
            MIXTURA_UNROLL
            for (int q = 0; q < kQueries; ++q) o[q][j] = load_first(outputs[q] + d + 16 * j, lanes[j]);
        }
        if (d + 16 * (kLanesAtOnce - 1) < width) {
            for (std::int64_t p = first; p < last; ++p) {
                Lanes v[kLanesAtOnce];
                MIXTURA_UNROLL
                for (int j = 0; j < kLanesAtOnce; ++j) v[j] = load(values.row[p] + d + 16 * j);
                MIXTURA_UNROLL
                for (int q = 0; q < kQueries; ++q) {
                    const Lanes weight = broadcast(weights[q][p]);
                    MIXTURA_UNROLL
                    for (int j = 0; j < kLanesAtOnce; ++j) o[q][j] = fma(weight, v[j], o[q][j]);
                }
            }
        } else {  // the last few registers: loads beyond the row would leave it
            for (std::int64_t p = first; p < last; ++p) {
                MIXTURA_UNROLL
                for (int j = 0; j < kLanesAtOnce; ++j) {
                    const Lanes v = load_first(values.row[p] + d + 16 * j, lanes[j]);
                    MIXTURA_UNROLL
                    for (int q = 0; q < kQueries; ++q) o[q][j] = fma(broadcast(weights[q][p]), v, o[q][j]);
                }
            }
        }
        MIXTURA_UNROLL
        for (int j = 0; j < kLanesAtOnce; ++j) {
            MIXTURA_UNROLL
            for (int q = 0; q < kQueries; ++q) store_first(outputs[q] + d + 16 * j, lanes[j], o[q][j]);
        }
    }
}

struct Range {
    std::int64_t first, last;
};

// The part of `range` in the eight positions from `base` on.
MIXTURA_BODY_INLINE Range within_eight(Range range, std::int64_t base) {
    return {range.first > base ? range.first : base, range.last < base + kRowsAtOnce ? range.last : base + kRowsAtOnce};
}

MIXTURA_BODY void add_values(const AttentionSplit& split, const Range* ranges, std::int64_t base,
                             const EightRows& values, const float (*weights)[kSplitTokens]) noexcept {
    const std::int64_t offset = base - split.split_first, width = split.value_width;
    for (std::int64_t i = 0; i < split.query_count;) {
        const Range range = within_eight(ranges[i], base);
        const float* weight[kQueriesAtOnce];
        float* output[kQueriesAtOnce];
        std::int64_t same = 0;  // queries from i on that see the same of these eight
        while (same < kQueriesAtOnce && i + same < split.query_count) {
            const Range other = within_eight(ranges[i + same], base);
            if (other.first != range.first || other.last != range.last) break;
            weight[same] = weights[i + same] + offset;
            output[same] = split.outputs + (i + same) * width;
            ++same;
        }
        const std::int64_t first = range.first - base, last = range.last - base;
        if (first < last) {
            if (same == kQueriesAtOnce) {
                add_rows<kQueriesAtOnce>(values, first, last, width, weight, output);
            } else {
                for (std::int64_t q = 0; q < same; ++q) add_rows<1>(values, first, last, width, weight + q, output + q);
            }
        }
        i += same;
    }
}

MIXTURA_BODY void attend_split(const AttentionSplit& split) noexcept {
    EightRows eight;
    alignas(64) float weights[kSplitQueriesMax][kSplitTokens];
    Range ranges[kSplitQueriesMax];
    Range all{split.split_first + kSplitTokens, split.split_first};
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        const AttentionQuery& query = split.queries[i];
        Range& range = ranges[i];
        range.first = query.visible_first > split.split_first ? query.visible_first : split.split_first;
        range.last = query.visible_last < split.split_first + kSplitTokens ? query.visible_last
                                                                           : split.split_first + kSplitTokens;
        all.first = range.first < all.first ? range.first : all.first;
        all.last = range.last > all.last ? range.last : all.last;
    }
    const std::int64_t start = all.first / kRowsAtOnce * kRowsAtOnce;
    // Sixteens that are not written whole below are read whole by weigh.
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        store(weights[i] + (start - split.split_first) / 16 * 16, broadcast(0.0F));
        store(weights[i] + (all.last - 1 - split.split_first) / 16 * 16, broadcast(0.0F));
    }
    for (std::int64_t base = start; base < all.last; base += kRowsAtOnce) {
        const Range rows = within_eight(all, base);
        read_rows(split, split.keys, split.key_width, base, rows.first, rows.last, eight);
        for (std::int64_t i = 0; i < split.query_count; ++i) {
            eight_dots(split.queries[i].query, eight, split.key_width, weights[i] + (base - split.split_first));
        }
    }
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        split.parts[i] = weigh(split, split.queries[i], ranges[i].first, ranges[i].last, weights[i]);
        float* output = split.outputs + i * split.value_width;
        for (std::int64_t d = 0; d < split.value_width; ++d) output[d] = 0.0F;
        split.parts[i].output = output;
    }
    for (std::int64_t base = start; base < all.last; base += kRowsAtOnce) {
        const Range rows = within_eight(all, base);
        read_rows(split, split.values, split.value_width, base, rows.first, rows.last, eight);
        add_values(split, ranges, base, eight, weights);
    }
}

MIXTURA_BODY void merge_split(const AttentionPartial& part, std::int64_t value_width, AttentionState& state,
                              float* output) noexcept {
    const float maximum = part.maximum > state.maximum ? part.maximum : state.maximum;
    const Lanes old_factor = exp(broadcast(state.maximum - maximum)),
                new_factor = exp(broadcast(part.maximum - maximum));
    state.maximum = maximum;
    state.sum = first_lane(fma(broadcast(part.sum), new_factor, mul(broadcast(state.sum), old_factor)));
    for (std::int64_t d = 0; d < value_width; d += 16) {
        const Mask lanes = first_lanes(value_width - d < 16 ? value_width - d : 16);
        const Lanes scaled = mul(load_first(output + d, lanes), old_factor);
        store_first(output + d, lanes, fma(load_first(part.output + d, lanes), new_factor, scaled));
    }
}

#undef MIXTURA_BODY_INLINE
#undef MIXTURA_BODY
