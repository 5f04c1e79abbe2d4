// Rates of the matrix products by format and number of tokens, each beside what the machine allows in the same run.
//   kernels_bench [--threads N] [--isa NAME] [--rows N] [--columns N] [--formats q4_k,q8_0] [--tokens 1,8,32] [--hot]
//                 [--processor-time]   (with --threads 1: a busy machine then disturbs little)
//                 [--best]             (the best of 100 short rounds instead of the median of 7 long ones)
// Weights stream from memory, as those of experts do: some 800 MB of matrices one after another (--hot: one matrix that
// stays in the cache).  A line: format, tokens, Gop/s and its share of the limiting peak, GB/s of weights and its share
// of the read bandwidth; "limit" is the larger of the two times a perfect machine would need, over the measured one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/listed.hpp"
#include "bench/peaks.hpp"
#include "kernels/backend.hpp"
#include "kernels/matmul.hpp"
#include "parallel/thread_pool.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

struct Options {
    int threads = 0;
    std::optional<std::string> isa;
    std::int64_t rows = 1536, columns = 2048;
    std::vector<DType> formats{DType::q4_k,   DType::q4_0,  DType::q8_0,        DType::q6_k,     DType::q5_k,
                               DType::iq4_xs, DType::mxfp4, DType::q2_k,        DType::q3_k,     DType::f16,
                               DType::bf16,   DType::f32,   DType::f8_e4m3_128, DType::int4_128, DType::nf4};
    std::vector<std::int64_t> tokens{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128};
    bool is_hot = false;
    bool is_best = false;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--hot") {
            options.is_hot = true;
            continue;
        }
        if (name == "--best") {
            options.is_best = true;
            continue;
        }
        if (name == "--processor-time") {
            bench::use_processor_time();
            continue;
        }
        ++i;
        if (name == "--threads") options.threads = std::atoi(value.c_str());
        if (name == "--isa") options.isa = value;
        if (name == "--rows") options.rows = std::atoll(value.c_str());
        if (name == "--columns") options.columns = std::atoll(value.c_str());
        if (name == "--formats") {
            options.formats.clear();
            for (const std::string& format : bench::listed(value)) options.formats.push_back(dtype_from_name(format));
        }
        if (name == "--tokens") {
            options.tokens.clear();
            for (const std::string& count : bench::listed(value)) options.tokens.push_back(std::atoll(count.c_str()));
        }
    }
    return options;
}

// Copies of one packed matrix, one behind the other, in one allocation of huge pages where the system grants them.
struct Matrices {
    std::vector<std::byte> bytes;
    std::size_t each = 0, count = 0;

    Matrices(DType dtype, const Options& options) {
        each = static_cast<std::size_t>(packed_bytes(dtype, options.rows, options.columns).value());
        count = options.is_hot ? 1 : std::max<std::size_t>(1, (800U << 20) / each);
        bytes.resize(each * count + 65536);
        const std::vector<std::byte> file = test::random_weights(dtype, options.rows, options.columns, 1);
        pack_rows(dtype, file.data(), options.rows, options.columns, bytes.data());
        for (std::size_t i = 1; i < count; ++i) std::copy_n(bytes.data(), each, bytes.data() + i * each);
    }
};

void bench_format(DType dtype, const Options& options, const KernelTable& kernels, ParallelFor& threads,
                  const bench::Peaks& peaks) {
    const Matrices matrices(dtype, options);
    const double compute_peak = reads_blocks(dtype) ? peaks.int8_ops_per_s : peaks.f32_ops_per_s;
    for (const std::int64_t tokens : options.tokens) {
        const std::vector<float> x = test::random_activations(1, tokens * options.columns, 2);
        std::vector<ActivationBlock> blocks(static_cast<std::size_t>(tokens * options.columns / 32));
        quantise_activations(kernels, threads, x.data(), options.columns, tokens, options.columns, blocks.data(),
                             options.columns / 32);
        std::vector<float> y(static_cast<std::size_t>(tokens * options.rows));
        const MatmulInput input{.values = x.data(),
                                .values_stride = options.columns,
                                .blocks = blocks.data(),
                                .blocks_stride = options.columns / 32,
                                .token_count = tokens};
        const double ops = 2.0 * static_cast<double>(tokens * options.rows * options.columns);
        std::vector<double> seconds;
        std::size_t at = 0;
        for (int round = 0; round < (options.is_best ? 100 : 7); ++round) {
            const double start = bench::seconds_now();
            double spent = 0;
            std::size_t calls = 0;
            do {
                const PackedMatrix matrix{dtype, options.rows, options.columns,
                                          matrices.bytes.data() + at * matrices.each};
                matmul(kernels, threads, matrix, input, y.data(), options.rows);
                at = (at + 1) % matrices.count;
                ++calls;
                spent = bench::seconds_now() - start;
            } while (spent < (options.is_best ? 0.003 : 0.05));
            seconds.push_back(spent / static_cast<double>(calls));
        }
        std::sort(seconds.begin(), seconds.end());
        const double median = options.is_best ? seconds[0] : seconds[seconds.size() / 2];
        const double compute = compute_peak > 0 ? ops / compute_peak : 0;
        const double reading = options.is_hot ? 0 : static_cast<double>(matrices.each) / peaks.read_bytes_per_s;
        std::printf("%-7s T %4lld  %8.1f Gop/s %5.2f   %6.2f GB/s %5.2f   limit %.2f   %9.1f us\n",
                    std::string(dtype_name(dtype)).c_str(), static_cast<long long>(tokens), ops / median / 1e9,
                    compute / median, static_cast<double>(matrices.each) / median / 1e9,
                    static_cast<double>(matrices.each) / peaks.read_bytes_per_s / median,
                    std::max(compute, reading) / median, median * 1e6);
        std::fflush(stdout);
    }
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
    std::printf("%s, %d threads, [%lld, %lld], read %.1f GB/s, int8 %.0f Gop/s, f32 %.0f Gop/s\n",
                std::string((*backend)->name).c_str(), (*pool)->thread_count(), static_cast<long long>(options.rows),
                static_cast<long long>(options.columns), peaks.read_bytes_per_s / 1e9, peaks.int8_ops_per_s / 1e9,
                peaks.f32_ops_per_s / 1e9);
    for (const DType dtype : options.formats) bench_format(dtype, options, *(*backend)->table, **pool, peaks);
    return 0;
}
