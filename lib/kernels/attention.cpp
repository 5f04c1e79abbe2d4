#include "kernels/attention.hpp"

#include <algorithm>
#include <limits>

namespace mixtura {
namespace {

// Queries of one task: they share the keys they read, and what it costs to turn and widen them.  Their partial outputs
// are on the stack, 32 KiB at most.
constexpr std::int64_t kQueriesMax = kSplitQueriesMax;
constexpr std::int64_t kPartialFloats = 8192;
constexpr std::int64_t kQueriesMin = 16;  // below, keys are better shared than split among more threads
constexpr std::int64_t kTasksPerThread = 2;

// A task is some of the (token, head of the group) pairs of one sequence and one key/value head.
struct Task {
    const AttentionSequence* sequence;
    std::int64_t kv_head;
    std::int64_t first_pair, pair_count;  // pair = token · group + head in group
};

struct Visible {
    std::int64_t first, last;
};

Visible visible_range(const AttentionShape& shape, const AttentionSequence& sequence, std::int64_t position) noexcept {
    Visible range{0, shape.is_causal ? std::min(position + 1, sequence.key_count) : sequence.key_count};
    if (shape.window_tokens > 0) range.first = std::max(range.first, position + 1 - shape.window_tokens);
    if (shape.chunk_tokens > 0) {
        const std::int64_t chunk = position / shape.chunk_tokens;
        range.first = std::max(range.first, chunk * shape.chunk_tokens);
        range.last = std::min(range.last, (chunk + 1) * shape.chunk_tokens);
    }
    return range;
}

PagedRows of_head(PagedRows rows, std::int64_t head, std::int64_t head_stride_bytes) noexcept {
    rows.base += head * head_stride_bytes;
    return rows;
}

// What a query adds to the scores of one split's positions.
void fill_bias(const AttentionShape& shape, std::int64_t head, std::int64_t position, std::int64_t split,
               float* bias) noexcept {
    const std::int64_t reach = shape.bias_reach;
    const float* const own = shape.bias + head * (2 * reach + 1) + reach;
    for (std::int64_t k = 0; k < kSplitTokens; ++k) bias[k] = own[std::clamp(split + k - position, -reach, reach)];
}

void run_task(const KernelTable& kernels, const AttentionShape& shape, const AttentionCache& cache, const Task& task,
              ConstRows queries, Rows outputs) noexcept {
    const std::int64_t group = shape.query_heads / shape.kv_heads, width = shape.value_width;
    AttentionQuery query[kQueriesMax];
    AttentionState state[kQueriesMax];
    float* output[kQueriesMax];
    std::int64_t first_key = std::numeric_limits<std::int64_t>::max(), last_key = 0;
    for (std::int64_t i = 0; i < task.pair_count; ++i) {
        const std::int64_t token = (task.first_pair + i) / group,
                           head = task.kv_head * group + (task.first_pair + i) % group;
        const std::int64_t row = task.sequence->first_row + token, position = task.sequence->first_position + token;
        const Visible range = visible_range(shape, *task.sequence, position);
        query[i] = {.query = queries.data + row * queries.stride + head * shape.key_width,
                    .position = position,
                    .visible_first = range.first,
                    .visible_last = range.last,
                    .slope = shape.slopes != nullptr ? shape.slopes[head] : 0.0F};
        state[i] = shape.sinks != nullptr ? AttentionState{shape.sinks[head], 1.0F}
                                          : AttentionState{-std::numeric_limits<float>::infinity(), 0.0F};
        output[i] = outputs.data + row * outputs.stride + head * width;
        std::fill_n(output[i], width, 0.0F);
        if (range.first >= range.last) continue;
        first_key = std::min(first_key, range.first);
        last_key = std::max(last_key, range.last);
    }

    float partial_outputs[kPartialFloats];
    AttentionQuery seeing[kQueriesMax];
    std::int64_t seeing_index[kQueriesMax];
    AttentionPartial parts[kQueriesMax];
    float biases[kQueriesMax][kSplitTokens];  // 64 KiB, touched where the layer has a bias
    for (std::int64_t split = first_key / kSplitTokens * kSplitTokens; split < last_key; split += kSplitTokens) {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < task.pair_count; ++i) {
            if (std::max(query[i].visible_first, split) >= std::min(query[i].visible_last, split + kSplitTokens))
                continue;
            seeing[count] = query[i];
            if (shape.bias != nullptr) {
                const std::int64_t head = task.kv_head * group + (task.first_pair + i) % group;
                fill_bias(shape, head, query[i].position, split, biases[count]);
                seeing[count].bias = biases[count];
            }
            seeing_index[count++] = i;
        }
        if (count == 0) continue;
        kernels.attend_split({.keys = of_head(cache.keys, task.kv_head, cache.key_head_stride_bytes),
                              .values = of_head(cache.values, task.kv_head, cache.value_head_stride_bytes),
                              .block_table = task.sequence->block_table,
                              .key_dtype = cache.key_dtype,
                              .value_dtype = cache.value_dtype,
                              .key_width = shape.key_width,
                              .value_width = width,
                              .split_first = split,
                              .scale = shape.scale,
                              .soft_cap = shape.soft_cap,
                              .queries = seeing,
                              .query_count = count,
                              .outputs = partial_outputs,
                              .parts = parts});
        for (std::int64_t j = 0; j < count; ++j) {
            kernels.merge_split(parts[j], width, state[seeing_index[j]], output[seeing_index[j]]);
        }
    }
    for (std::int64_t i = 0; i < task.pair_count; ++i) {
        if (query[i].visible_first < query[i].visible_last) kernels.divide(output[i], state[i].sum, width, output[i]);
    }
}

}  // namespace

void attention(const KernelTable& kernels, ParallelFor& threads, const AttentionShape& shape,
               const AttentionCache& cache, std::span<const AttentionSequence> sequences, ConstRows queries,
               Rows outputs) noexcept {
    const std::int64_t group = shape.query_heads / shape.kv_heads;
    std::int64_t pairs_max =
        std::clamp<std::int64_t>(kPartialFloats / std::max<std::int64_t>(shape.value_width, 1), 1, kQueriesMax);
    const auto blocks_of = [&](const AttentionSequence& sequence) noexcept {
        return (sequence.row_count * group + pairs_max - 1) / pairs_max;
    };
    const auto count_tasks = [&]() noexcept {
        std::int64_t count = 0;
        for (const AttentionSequence& sequence : sequences) count += blocks_of(sequence) * shape.kv_heads;
        return count;
    };
    // A short step goes to all threads rather than share the most keys; no bit depends on it.
    while (pairs_max > kQueriesMin && count_tasks() < kTasksPerThread * threads.thread_count()) pairs_max /= 2;

    // One head's tasks follow each other, for its keys and values to be read from a near cache; the last tokens first,
    // for they see the most and whoever is done last should have a short task.
    parallel_for(threads, count_tasks(), [&](std::int64_t index, int) noexcept {
        std::size_t s = 0;
        while (index >= blocks_of(sequences[s]) * shape.kv_heads) index -= blocks_of(sequences[s++]) * shape.kv_heads;
        const std::int64_t blocks = blocks_of(sequences[s]);
        const std::int64_t first_pair = (blocks - 1 - index % blocks) * pairs_max;
        const Task task{.sequence = &sequences[s],
                        .kv_head = index / blocks,
                        .first_pair = first_pair,
                        .pair_count = std::min(pairs_max, sequences[s].row_count * group - first_pair)};
        run_task(kernels, shape, cache, task, queries, outputs);
    });
}

}  // namespace mixtura
