// One sequence in a paged cache and queries of its last positions: what attention is tested and fuzzed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.hpp"

namespace mixtura::test {

// One sequence of `keys` positions and the queries of the last `rows` of them, its pages in the order `seed` shuffles.
// What lies in the pages beyond the sequence is NaN: whoever reads it and multiplies it by 0 is found out.
struct AttentionScene {
    AttentionShape shape;
    DType key_dtype, value_dtype;
    std::int64_t keys, rows;
    std::vector<float> queries, key_values, value_values;  // [rows, Q, D], [keys, KV, D], [keys, KV, Dv]
    std::vector<float> sinks, slopes;                      // [Q], for shapes to point at
    std::vector<float> bias;                               // [Q, 2 · kBiasReach + 1], likewise
    static constexpr std::int64_t kBiasReach = 37;
    std::vector<std::int32_t> table;
    std::vector<std::byte> key_pages, value_pages;

    // `types`: one for keys and values, or of keys and of values.
    struct Types {
        Types(DType both) : keys(both), values(both) {}
        Types(DType k, DType v) : keys(k), values(v) {}
        DType keys, values;
    };
    AttentionScene(AttentionShape s, Types types, std::int64_t key_count, std::int64_t row_count, std::uint64_t seed);

    // Rounds keys and values into pages, anew after a change of either.
    void place(std::uint64_t seed);

    AttentionCache cache() const;

    // In steps of `rows_at_once`; each step's keys end at its last row, as when the tokens arrive one after another.
    std::vector<float> attend(const KernelTable& kernels, ParallelFor& threads, std::int64_t rows_at_once) const;

  private:
    std::int64_t head_bytes(DType dtype, std::int64_t width) const;
    void fill(std::vector<std::byte>& pages, const std::vector<float>& values, DType dtype, std::int64_t width) const;
};

}  // namespace mixtura::test
