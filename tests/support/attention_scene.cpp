#include "support/attention_scene.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cache_row.hpp"
#include "kernels/ref/ref.hpp"
#include "parallel/fp_environment.hpp"
#include "support/weights.hpp"

namespace mixtura::test {
namespace {

std::vector<float> gaussians(std::int64_t count, std::uint64_t seed, float size) {
    Random generator(seed);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = size * generator.gaussian();
    return x;
}

}  // namespace

AttentionScene::AttentionScene(AttentionShape s, Types types, std::int64_t key_count, std::int64_t row_count,
                               std::uint64_t seed)
    : shape(s), key_dtype(types.keys), value_dtype(types.values), keys(key_count), rows(row_count) {
    queries = gaussians(row_count * shape.query_heads * shape.key_width, seed, 2.0F);
    key_values = gaussians(keys * shape.kv_heads * shape.key_width, seed + 1, 1.0F);
    value_values = gaussians(keys * shape.kv_heads * shape.value_width, seed + 2, 1.0F);
    sinks = gaussians(shape.query_heads, seed + 3, 1.0F);
    slopes = gaussians(shape.query_heads, seed + 4, 0.1F);
    bias = gaussians(shape.query_heads * (2 * kBiasReach + 1), seed + 5, 1.0F);
    place(seed);
}

std::int64_t AttentionScene::head_bytes(DType dtype, std::int64_t width) const {
    return kCacheBlockTokens * cache_row_bytes(dtype, width);
}

void AttentionScene::place(std::uint64_t seed) {
    const std::int64_t pages = (keys + kCacheBlockTokens - 1) / kCacheBlockTokens;
    table.resize(static_cast<std::size_t>(pages));
    std::iota(table.begin(), table.end(), 0);
    Random generator(seed);
    for (std::size_t i = table.size(); i > 1; --i) std::swap(table[i - 1], table[generator.bits() % i]);
    const FpEnvironment guard;  // products round as the library's do
    fill(key_pages, key_values, key_dtype, shape.key_width);
    fill(value_pages, value_values, value_dtype, shape.value_width);
}

void AttentionScene::fill(std::vector<std::byte>& pages, const std::vector<float>& values, DType dtype,
                          std::int64_t width) const {
    const std::int64_t row_bytes = cache_row_bytes(dtype, width),
                       page_bytes = shape.kv_heads * head_bytes(dtype, width);
    pages.assign(static_cast<std::size_t>(static_cast<std::int64_t>(table.size()) * page_bytes), std::byte{0xFF});
    for (std::int64_t p = 0; p < keys; ++p) {
        std::byte* row = pages.data() + table[static_cast<std::size_t>(p / kCacheBlockTokens)] * page_bytes +
                         p % kCacheBlockTokens * row_bytes;
        for (std::int64_t h = 0; h < shape.kv_heads; ++h, row += head_bytes(dtype, width))
            ref::store_row(dtype, values.data() + (p * shape.kv_heads + h) * width, width, row);
    }
}

AttentionCache AttentionScene::cache() const {
    const auto paged = [&](const std::vector<std::byte>& pages, DType dtype, std::int64_t width) {
        return PagedRows{pages.data(), shape.kv_heads * head_bytes(dtype, width), cache_row_bytes(dtype, width)};
    };
    return {.keys = paged(key_pages, key_dtype, shape.key_width),
            .values = paged(value_pages, value_dtype, shape.value_width),
            .key_head_stride_bytes = head_bytes(key_dtype, shape.key_width),
            .value_head_stride_bytes = head_bytes(value_dtype, shape.value_width),
            .key_dtype = key_dtype,
            .value_dtype = value_dtype};
}

std::vector<float> AttentionScene::attend(const KernelTable& kernels, ParallelFor& threads,
                                          std::int64_t rows_at_once) const {
    std::vector<float> y(static_cast<std::size_t>(rows * shape.query_heads * shape.value_width), -9.0F);
    const std::int64_t q_stride = shape.query_heads * shape.key_width, y_stride = shape.query_heads * shape.value_width;
    for (std::int64_t row = 0; row < rows; row += rows_at_once) {
        const std::int64_t count = std::min(rows_at_once, rows - row);
        const AttentionSequence sequence{.block_table = table.data(),
                                         .first_row = 0,
                                         .row_count = count,
                                         .first_position = keys - rows + row,
                                         .key_count = shape.is_causal ? keys - rows + row + count : keys};
        attention(kernels, threads, shape, cache(), {&sequence, 1}, {queries.data() + row * q_stride, q_stride},
                  {y.data() + row * y_stride, y_stride});
    }
    return y;
}

}  // namespace mixtura::test
