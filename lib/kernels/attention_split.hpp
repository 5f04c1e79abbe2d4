// The inner piece of attention: some queries against the keys and values of one key/value head within one split of
// absolute positions.  attention.cpp cuts the work into splits and merges their parts; the kernels here compute one
// part. README.md, "Attention", has the formulas and the order of operations.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>

namespace mixtura {

inline constexpr std::int64_t kCacheBlockTokens = 32;  // the KV cache's page
inline constexpr std::int64_t kSplitTokens = 256;      // split i is positions [256 i, 256 (i + 1)), whatever the batch
inline constexpr std::int64_t kHeadWidthMax = 1024;
inline constexpr std::int64_t kSplitQueriesMax = 64;  // of one call: their weights take 64 KiB of stack

// Keys and values of one layer and one key/value head of one sequence, in pages of kCacheBlockTokens.  Row of position
// p:
//     base + block_table[p / 32] · block_stride_bytes + (p % 32) · token_stride_bytes
struct PagedRows {
    const std::byte* base = nullptr;
    std::int64_t block_stride_bytes = 0;
    std::int64_t token_stride_bytes = 0;
};

// One query head of one token, and the half-open range of positions it sees.
struct AttentionQuery {
    const float* query = nullptr;  // [key_width] f32
    std::int64_t position = 0;
    std::int64_t visible_first = 0;
    std::int64_t visible_last = 0;
    float slope = 0.0F;           // ALiBi; 0: none
    const float* bias = nullptr;  // [kSplitTokens] by position in the split, all readable; nullptr: none
};

// What a split gives for one query: m = max s, l = Σ e^(s - m), o = Σ e^(s - m) · v.
struct AttentionPartial {
    float maximum = 0.0F;
    float sum = 0.0F;
    const float* output = nullptr;  // [value_width]
};

struct AttentionSplit {
    PagedRows keys;    // [positions, key_width] key_dtype
    PagedRows values;  // [positions, value_width] value_dtype
    const std::int32_t* block_table = nullptr;
    DType key_dtype = DType::f32;  // is_cache_dtype()
    DType value_dtype = DType::f32;
    std::int64_t key_width = 0;
    std::int64_t value_width = 0;
    std::int64_t split_first = 0;  // a multiple of kSplitTokens
    float scale = 1.0F;
    float soft_cap = 0.0F;  // 0: none

    const AttentionQuery* queries = nullptr;  // each sees at least one position of this split
    std::int64_t query_count = 0;             // at most kSplitQueriesMax
    float* outputs = nullptr;                 // [query_count, value_width], overwritten
    AttentionPartial* parts = nullptr;        // [query_count], overwritten; output points into outputs
};

// The sum so far: starts as m = -inf, l = 0, o = 0, or with a sink as m = sink, l = 1, o = 0.
struct AttentionState {
    float maximum;
    float sum;
};

}  // namespace mixtura
