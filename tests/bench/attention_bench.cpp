// Rates of attention by shape and step, each beside what the machine allows in the same run.
//   attention_bench [--threads N] [--isa NAME] [--dtype f16|q8|f16+f8|...] [--shapes olmoe,qwen3,latent] [--tokens
//   1,64,512,2048]
//                   [--keys N]          (keys before the step's own; default 0, for one token 2048)
//                   [--rounds N]        (the best of N, default 7)
//                   [--processor-time]  (with --threads 1: a busy machine then disturbs little)
// A line: shape, tokens, keys, Gflop/s of the visible pairs alone and their share of the f32 peak, GB/s of the cache's
// rows (each read once) and their share of the read bandwidth.
#include <mixtura/cache_dtypes.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peaks.hpp"
#include "kernels/attention.hpp"
#include "kernels/backend.hpp"
#include "kernels/cache_row.hpp"
#include "parallel/thread_pool.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

struct NamedShape {
    const char* name;
    AttentionShape shape;
};

// What the rows of one layer look like in models people run.
const NamedShape kShapes[] = {
    {"olmoe", {.query_heads = 16, .kv_heads = 16, .key_width = 128, .value_width = 128, .scale = 0.088F}},
    {"qwen3", {.query_heads = 32, .kv_heads = 4, .key_width = 128, .value_width = 128, .scale = 0.088F}},
    {"narrow", {.query_heads = 64, .kv_heads = 8, .key_width = 64, .value_width = 64, .scale = 0.125F}},
    {"latent", {.query_heads = 16, .kv_heads = 1, .key_width = 576, .value_width = 512, .scale = 0.072F}}};

struct Options {
    int threads = 0;
    std::optional<std::string> isa;
    CacheDTypes dtype = DType::f16;
    std::string shapes = "olmoe,qwen3,narrow,latent";
    std::vector<std::int64_t> tokens{1, 16, 64, 512, 2048};
    std::int64_t keys = -1;
    int rounds = 7;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--processor-time") {
            bench::use_processor_time();
            continue;
        }
        const std::string value = ++i < argc ? argv[i] : "";
        if (name == "--threads") options.threads = std::atoi(value.c_str());
        if (name == "--isa") options.isa = value;
        if (name == "--dtype") options.dtype = cache_dtypes_from_name(value).value_or(CacheDTypes());
        if (name == "--shapes") options.shapes = value;
        if (name == "--keys") options.keys = std::atoll(value.c_str());
        if (name == "--rounds") options.rounds = std::atoi(value.c_str());
        if (name == "--tokens") {
            options.tokens.clear();
            for (std::size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
                options.tokens.push_back(std::atoll(value.c_str() + at));
        }
    }
    return options;
}

void bench_step(const NamedShape& shape, std::int64_t tokens, const Options& options, const KernelTable& kernels,
                ParallelFor& threads, const bench::Peaks& peaks) {
    const AttentionShape& s = shape.shape;
    const std::int64_t before = options.keys >= 0 ? options.keys : tokens == 1 ? 2047 : 0;
    const std::int64_t keys = before + tokens, pages = (keys + 31) / 32;
    const std::int64_t key_bytes = cache_row_bytes(options.dtype.keys, s.key_width),
                       value_bytes = cache_row_bytes(options.dtype.values, s.value_width);
    const auto rows = [&](DType dtype, std::int64_t width, std::uint64_t seed) {
        const std::int64_t count = pages * 32 * s.kv_heads, row_bytes = cache_row_bytes(dtype, width);
        const std::vector<float> x = test::random_activations(1, count * width, seed);
        std::vector<std::byte> bytes(static_cast<std::size_t>(count * row_bytes));
        for (std::int64_t i = 0; i < count; ++i)
            kernels.store_row(dtype, x.data() + i * width, width, bytes.data() + i * row_bytes);
        return bytes;
    };
    const std::vector<std::byte> key_rows = rows(options.dtype.keys, s.key_width, 1),
                                 value_rows = rows(options.dtype.values, s.value_width, 2);
    const std::vector<float> queries = test::random_activations(1, tokens * s.query_heads * s.key_width, 3);
    std::vector<float> outputs(static_cast<std::size_t>(tokens * s.query_heads * s.value_width));
    std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
    std::iota(table.begin(), table.end(), 0);
    const auto paged = [&](const std::vector<std::byte>& bytes, std::int64_t row_bytes) {
        return PagedRows{bytes.data(), s.kv_heads * 32 * row_bytes, row_bytes};
    };
    const AttentionCache cache{.keys = paged(key_rows, key_bytes),
                               .values = paged(value_rows, value_bytes),
                               .key_head_stride_bytes = 32 * key_bytes,
                               .value_head_stride_bytes = 32 * value_bytes,
                               .key_dtype = options.dtype.keys,
                               .value_dtype = options.dtype.values};
    const AttentionSequence sequence{
        .block_table = table.data(), .first_row = 0, .row_count = tokens, .first_position = before, .key_count = keys};
    double best = 1e9;
    for (int round = 0; round < options.rounds; ++round) {
        const double start = bench::seconds_now();
        double spent = 0;
        int calls = 0;
        do {
            attention(kernels, threads, s, cache, {&sequence, 1}, {queries.data(), s.query_heads * s.key_width},
                      {outputs.data(), s.query_heads * s.value_width});
            ++calls;
            spent = bench::seconds_now() - start;
        } while (spent < 0.003);
        best = std::min(best, spent / calls);
    }
    const auto pairs = static_cast<double>(tokens * before + tokens * (tokens + 1) / 2);
    const auto widths = static_cast<double>(s.key_width + s.value_width);
    const double ops = 2 * pairs * widths * static_cast<double>(s.query_heads);
    const double bytes = static_cast<double>(keys * s.kv_heads * (key_bytes + value_bytes));
    std::printf("%-7s T %5lld keys %6lld  %8.1f Gflop/s %5.2f   %7.2f GB/s %5.2f   %10.1f us\n", shape.name,
                static_cast<long long>(tokens), static_cast<long long>(keys), ops / best / 1e9,
                ops / best / peaks.f32_ops_per_s, bytes / best / 1e9, bytes / best / peaks.read_bytes_per_s,
                best * 1e6);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    const auto backend = options.isa ? choose_backend(*options.isa, cpu_features()) : choose_backend();
    const auto pool = ThreadPool::create(options.threads);
    if (!backend || !pool) {
        std::fprintf(stderr, "%s\n", std::string((!backend ? backend.status() : pool.status()).message()).c_str());
        return 1;
    }
    const bench::Peaks peaks = bench::measure_peaks(**pool);
    std::printf("%s, %d threads, %s cache, read %.1f GB/s, f32 %.0f Gflop/s\n", std::string((*backend)->name).c_str(),
                (*pool)->thread_count(), cache_dtypes_name(options.dtype).c_str(), peaks.read_bytes_per_s / 1e9,
                peaks.f32_ops_per_s / 1e9);
    for (const NamedShape& shape : kShapes) {
        if (options.shapes.find(shape.name) == std::string::npos) continue;
        for (const std::int64_t tokens : options.tokens)
            bench_step(shape, tokens, options, *(*backend)->table, **pool, peaks);
    }
    return 0;
}
