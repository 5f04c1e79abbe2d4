// Attention of the tokens of one step over a paged cache that already holds their own keys and values, rounded.
//   y[t, h] = Σ_p softmax_p(s[t, h, p]) · v[p, h'],   h' = h / (query heads per key/value head)
// Splits of kSplitTokens at absolute positions, each finished alone, merged ascending by one function; keys a token may
// not see are skipped, never multiplied by 0.  So a token's bits depend on its sequence alone: not on the other rows of
// the step, their number, the threads, or which pages hold the tokens.  README.md, "Attention", has the steps.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention_split.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/rows.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// What a layer's attention is.
struct AttentionShape {
    std::int64_t query_heads = 0;
    std::int64_t kv_heads = 0;       // divides query_heads
    std::int64_t key_width = 0;      // D of queries and keys, at most kHeadWidthMax
    std::int64_t value_width = 0;    // D of values and outputs, at most kHeadWidthMax
    float scale = 1.0F;              // scores are q · k · scale
    float soft_cap = 0.0F;           // > 0: cap · tanh(score / cap)
    bool is_causal = true;           // false: every token sees all keys of its sequence
    std::int64_t window_tokens = 0;  // > 0: a token sees itself and the window - 1 tokens before it
    std::int64_t chunk_tokens = 0;   // > 0: a token sees only its own chunk [c·n, (c+1)·n) of positions
    const float* sinks = nullptr;    // [query_heads] logits of a sink, or nullptr
    const float* slopes = nullptr;   // [query_heads] ALiBi slopes, or nullptr: + slope · (key position - own position)
    // [query_heads][2 · bias_reach + 1], or nullptr: + bias[head][bias_reach + distance], distance = key position - own
    // position, those further off as the furthest.
    const float* bias = nullptr;
    std::int64_t bias_reach = 0;
};

// One layer's cache: head h's row of position p lies at
//     base + block_table[p / 32] · block_stride_bytes + h · head_stride_bytes + (p % 32) · token_stride_bytes
struct AttentionCache {
    PagedRows keys;
    PagedRows values;
    std::int64_t key_head_stride_bytes = 0;
    std::int64_t value_head_stride_bytes = 0;
    DType key_dtype = DType::f32;  // is_cache_dtype(); any two go together
    DType value_dtype = DType::f32;
};

// The rows [first_row, first_row + row_count) of the step belong to one sequence, at consecutive positions.
struct AttentionSequence {
    const std::int32_t* block_table = nullptr;
    std::int64_t first_row = 0;
    std::int64_t row_count = 0;
    std::int64_t first_position = 0;
    std::int64_t key_count = 0;  // positions the cache holds, the step's own included
};

// queries: [T, query_heads, key_width], heads key_width floats apart · outputs: [T, query_heads, value_width],
// overwritten. A token that sees no key gives zeros.
void attention(const KernelTable& kernels, ParallelFor& threads, const AttentionShape& shape,
               const AttentionCache& cache, std::span<const AttentionSequence> sequences, ConstRows queries,
               Rows outputs) noexcept;

}  // namespace mixtura
