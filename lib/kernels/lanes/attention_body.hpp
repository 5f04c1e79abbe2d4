// Attention on sixteen lanes: the steps of ref/attention_ref.cpp.  Included once per instruction set, inside its
// namespace, after its Lanes, math_body.hpp and attention_dots_body.hpp, with MIXTURA_BODY_TARGET defined; so this file
// has no include guard.
//
// Values go a page at a time, read (and widened) once for all queries, some queries by some registers of output at once
// (as many as the instruction set has registers for); the outputs rest in memory between two pages, which changes no
// bit of their chains.

#define MIXTURA_BODY MIXTURA_BODY_TARGET static
#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

// Turns dot products into weights e^(s - m) in place; `weights` starts at split_first, only [first, last) counts.
MIXTURA_BODY AttentionPartial weigh(const AttentionSplit& split, const AttentionQuery& query, std::int64_t first,
                                    std::int64_t last, float* weights) noexcept {
    const Lanes factor = broadcast(split.scale), cap = broadcast(split.soft_cap), slope = broadcast(query.slope);
    const Lanes lowest = broadcast(-__builtin_inff());
    const std::int64_t start = first - split.split_first, end = last - split.split_first, begin = start / 16 * 16;
    Lanes largest = lowest;
    for (std::int64_t k = begin; k < end; k += 16) {
        Lanes score = mul(load(weights + k), factor);
        if (split.soft_cap > 0.0F) score = mul(cap, tanh(div(score, cap)));
        if (query.slope != 0.0F) {
            const auto distance = static_cast<float>(split.split_first + k - query.position);
            score = fma(slope, add(broadcast(distance), lane_numbers()), score);
        }
        if (query.bias != nullptr) score = add(score, load(query.bias + k));
        store(weights + k, score);
        if (k < start || k + 16 > end) {
            score = select(lanes_between(start - k, end - k), score, lowest);
        }
        largest = larger(score, largest);
    }
    const float maximum = largest_lane(largest) + 0.0F;
    Lanes sum = broadcast(0.0F);
    for (std::int64_t k = begin; k < end; k += 16) {
        const Lanes weight = exp(sub(load(weights + k), broadcast(maximum)));
        store(weights + k, weight);
        const Lanes more = add(sum, weight);
        sum = k < start || k + 16 > end ? select(lanes_between(start - k, end - k), more, sum) : more;
    }
    return {.maximum = maximum, .sum = tree_sum(sum), .output = nullptr};
}

// output[d] = fma(weight[p], row[p][d], output[d]) for p in [first, last) of the tile, kQueries queries and kLanes
// registers together; only one register at once may reach beyond the width.
template <int kQueries, int kLanes>
MIXTURA_BODY_INLINE void add_rows(const float* const* rows, Range range, std::int64_t d, std::int64_t width,
                                  const float* const* weights, float* const* outputs) {
    const Mask lanes = first_lanes(width - d < 16 ? width - d : 16);
    Lanes o[kQueries][kLanes];
    MIXTURA_UNROLL
    for (int q = 0; q < kQueries; ++q) {
        MIXTURA_UNROLL
        for (int j = 0; j < kLanes; ++j)
            o[q][j] = kLanes == 1 ? load_first(outputs[q] + d, lanes) : load(outputs[q] + d + 16 * j);
    }
    for (std::int64_t p = range.first; p < range.last; ++p) {
        Lanes v[kLanes];
        MIXTURA_UNROLL
        for (int j = 0; j < kLanes; ++j) v[j] = load(rows[p] + d + 16 * j);
        MIXTURA_UNROLL
        for (int q = 0; q < kQueries; ++q) {
            const Lanes weight = broadcast(weights[q][p]);
            MIXTURA_UNROLL
            for (int j = 0; j < kLanes; ++j) o[q][j] = fma(weight, v[j], o[q][j]);
        }
    }
    MIXTURA_UNROLL
    for (int q = 0; q < kQueries; ++q) {
        MIXTURA_UNROLL
        for (int j = 0; j < kLanes; ++j) {
            if (kLanes == 1) {
                store_first(outputs[q] + d, lanes, o[q][j]);
            } else {
                store(outputs[q] + d + 16 * j, o[q][j]);
            }
        }
    }
}

template <int kQueries>
MIXTURA_BODY void add_rows(const float* const* rows, Range range, std::int64_t width, const float* const* weights,
                           float* const* outputs) noexcept {
    std::int64_t d = 0;
    for (; d + 16 * kLanesAtOnce <= width; d += 16 * kLanesAtOnce)
        add_rows<kQueries, kLanesAtOnce>(rows, range, d, width, weights, outputs);
    for (; d < width; d += 16) add_rows<kQueries, 1>(rows, range, d, width, weights, outputs);
}

// The rows of the `count` positions from base on, for every query those it sees, ascending.
MIXTURA_BODY void add_values(const AttentionSplit& split, const Range* ranges, std::int64_t base, std::int64_t count,
                             const TileRows& values, const float (*weights)[kSplitTokens]) noexcept {
    const std::int64_t offset = base - split.split_first, width = split.value_width;
    for (std::int64_t i = 0; i < split.query_count;) {
        const std::int64_t left = split.query_count - i, queries = left < kQueriesAtOnce ? 1 : kQueriesAtOnce;
        Range seen[kQueriesAtOnce], common{0, count};
        const float* weight[kQueriesAtOnce];
        float* output[kQueriesAtOnce];
        for (std::int64_t q = 0; q < queries; ++q) {
            const Range range = within(ranges[i + q], base, count);
            seen[q] = {range.first - base, range.last - base};
            common = {seen[q].first > common.first ? seen[q].first : common.first,
                      seen[q].last < common.last ? seen[q].last : common.last};
            weight[q] = weights[i + q] + offset;
            output[q] = split.outputs + (i + q) * width;
        }
        // What only some of them see comes before and after what all see.
        const bool together = queries == kQueriesAtOnce && common.first < common.last;
        for (std::int64_t q = 0; q < queries; ++q) {
            const Range before{seen[q].first, together ? common.first : seen[q].last};
            if (before.first < before.last) add_rows<1>(values.row, before, width, weight + q, output + q);
        }
        if (together) {
            add_rows<kQueriesAtOnce>(values.row, common, width, weight, output);
            for (std::int64_t q = 0; q < queries; ++q) {
                const Range after{common.last, seen[q].last};
                if (after.first < after.last) add_rows<1>(values.row, after, width, weight + q, output + q);
            }
        }
        i += queries;
    }
}

MIXTURA_BODY void attend_split(const AttentionSplit& split) noexcept {
    TileRows tile;
    alignas(64) float weights[kSplitQueriesMax][kSplitTokens];
    Range ranges[kSplitQueriesMax];
    Range all{split.split_first + kSplitTokens, split.split_first};
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        const AttentionQuery& query = split.queries[i];
        ranges[i] = within({query.visible_first, query.visible_last}, split.split_first, kSplitTokens);
        all.first = ranges[i].first < all.first ? ranges[i].first : all.first;
        all.last = ranges[i].last > all.last ? ranges[i].last : all.last;
    }
    const bool are_many = split.query_count >= kTileQueriesMin;
    if (!are_many) {  // eights are written there, weigh reads sixteens
        for (std::int64_t i = 0; i < split.query_count; ++i) {
            store(weights[i] + (all.first - split.split_first) / 16 * 16, broadcast(0.0F));
            store(weights[i] + (all.last - 1 - split.split_first) / 16 * 16, broadcast(0.0F));
        }
    }
    // Few queries read eight rows at once: more would leave the nearest cache between widening and use.
    const std::int64_t keys = !are_many ? 8 : all.last - all.first / 16 * 16 <= 16 ? 16 : tile_rows(split.key_width);
    for (std::int64_t base = all.first / keys * keys; base < all.last; base += keys) {
        const Range range = within(all, base, keys);
        if (are_many) {
            dots_along_keys(split, ranges, base, keys, range, tile, weights);
        } else {
            read_rows(split, split.keys, split.key_dtype, split.key_width, base, range, tile);
            dots_along_width(split, tile, base, range, weights);
        }
    }
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        split.parts[i] = weigh(split, split.queries[i], ranges[i].first, ranges[i].last, weights[i]);
        float* output = split.outputs + i * split.value_width;
        for (std::int64_t d = 0; d < split.value_width; ++d) output[d] = 0.0F;
        split.parts[i].output = output;
    }
    const std::int64_t values = are_many ? tile_rows(split.value_width) : 8;
    for (std::int64_t base = all.first / values * values; base < all.last; base += values) {
        read_rows(split, split.values, split.value_dtype, split.value_width, base, within(all, base, values), tile);
        add_values(split, ranges, base, values, tile, weights);
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
