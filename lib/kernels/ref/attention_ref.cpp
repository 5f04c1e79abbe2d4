// One split of attention and the merging of splits, scalar.  README.md, "Attention", has the formulas.
//   FlashAttention: Dao et al. 2022 (arXiv 2205.14135), section 3.1, for the merging of partial softmaxes; departing
//   from it, splits lie at fixed absolute positions and a split's maximum is taken over all of it before any
//   exponential. ALiBi: Press et al. 2021 (arXiv 2108.12409), section 3.   Soft cap: Gemma 2 (arXiv 2408.00118),
//   section 2.
#include <cmath>
#include <limits>

#include "kernels/cache_row.hpp"
#include "kernels/math.hpp"
#include "kernels/reduce.hpp"
#include "kernels/ref/ref.hpp"

namespace mixtura::ref {
namespace {

const std::byte* row_at(const PagedRows& rows, const std::int32_t* block_table, std::int64_t position) noexcept {
    return rows.base + block_table[position / kCacheBlockTokens] * rows.block_stride_bytes +
           position % kCacheBlockTokens * rows.token_stride_bytes;
}

void attend_split(const AttentionSplit& split) noexcept {
    float row[kHeadWidthMax];
    float scores[kSplitTokens];
    for (std::int64_t i = 0; i < split.query_count; ++i) {
        const AttentionQuery& query = split.queries[i];
        const std::int64_t split_last = split.split_first + kSplitTokens;
        const std::int64_t first = query.visible_first > split.split_first ? query.visible_first : split.split_first;
        const std::int64_t last = query.visible_last < split_last ? query.visible_last : split_last;

        for (std::int64_t p = first; p < last; ++p) {
            load_cache_row(split.key_dtype, row_at(split.keys, split.block_table, p), 0, split.key_width, row);
            scores[p - first] = attention_score(dot_f32(query.query, row, split.key_width), split.scale, split.soft_cap,
                                                query.slope, static_cast<float>(p - query.position));
            if (query.bias != nullptr) scores[p - first] += query.bias[p - split.split_first];
        }
        const float maximum = max_f32(scores, last - first);

        // Position p goes to accumulator p mod 16, as the lanes of a vector that starts at a multiple of 16 do.
        float accumulators[kAccumulators] = {};
        float* output = split.outputs + i * split.value_width;
        for (std::int64_t d = 0; d < split.value_width; ++d) output[d] = 0.0F;
        for (std::int64_t p = first; p < last; ++p) {
            const float weight = exp_f32(scores[p - first] - maximum);
            accumulators[p % kAccumulators] += weight;
            load_cache_row(split.value_dtype, row_at(split.values, split.block_table, p), 0, split.value_width, row);
            for (std::int64_t d = 0; d < split.value_width; ++d) output[d] = std::fma(weight, row[d], output[d]);
        }
        split.parts[i] = {.maximum = maximum, .sum = tree_sum(accumulators), .output = output};
    }
}

void merge_split(const AttentionPartial& part, std::int64_t value_width, AttentionState& state,
                 float* output) noexcept {
    const float maximum = part.maximum > state.maximum ? part.maximum : state.maximum;
    const float old_factor = exp_f32(state.maximum - maximum), new_factor = exp_f32(part.maximum - maximum);
    state.maximum = maximum;
    state.sum = std::fma(part.sum, new_factor, state.sum * old_factor);
    for (std::int64_t d = 0; d < value_width; ++d)
        output[d] = std::fma(part.output[d], new_factor, output[d] * old_factor);
}

}  // namespace

float attention_score(float dot, float scale, float soft_cap, float slope, float distance) noexcept {
    float score = dot * scale;
    if (soft_cap > 0.0F) score = soft_cap * tanh_f32(score / soft_cap);
    return slope != 0.0F ? std::fma(slope, distance, score) : score;
}

void fill_attention(KernelTable& table) noexcept {
    table.attend_split = attend_split;
    table.merge_split = merge_split;
}

}  // namespace mixtura::ref
