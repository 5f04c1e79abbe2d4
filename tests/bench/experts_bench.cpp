// Rates of a whole mixture layer (run_mixture: gate, up, activation, down, weighted sum) by format and tokens, beside
// what the machine allows in the same run.
//   experts_bench [--threads N] [--hidden H] [--width F] [--experts E] [--choices K] [--formats q4_k,q8_0]
//                 [--tokens 1,8,64,512] [--processor-time]   (with --threads 1: a busy machine then disturbs little)
// Weights are random and stream from memory: some 1 GB of layers one after another; tokens choose uniformly.  A line:
// format, tokens, the median call (the best with --processor-time), Gop/s and their share of the peak, GB/s of the
// weights that were needed and their share of the read bandwidth; "limit" is the larger of the two times a perfect
// machine would need, over the measured one; "products" is what the same products take one expert after another with
// kernels/matmul, without anything between.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "bench/listed.hpp"
#include "bench/peaks.hpp"
#include "experts/mixture.hpp"
#include "kernels/backend.hpp"
#include "kernels/matmul.hpp"
#include "parallel/thread_pool.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

struct Options {
    int threads = 0;
    std::int64_t hidden = 2048, width = 1024, experts = 64, choices = 8;
    bool is_best = false;
    std::vector<std::string> formats{"q4_k", "q8_0"}, tokens{"1", "8", "64", "512"};
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--processor-time") {
            bench::use_processor_time();
            options.is_best = true;
            continue;
        }
        if (++i == argc) break;
        const char* value = argv[i];
        if (name == "--threads") options.threads = std::atoi(value);
        if (name == "--hidden") options.hidden = std::atoll(value);
        if (name == "--width") options.width = std::atoll(value);
        if (name == "--experts") options.experts = std::atoll(value);
        if (name == "--choices") options.choices = std::atoll(value);
        if (name == "--formats") options.formats = bench::listed(value);
        if (name == "--tokens") options.tokens = bench::listed(value);
    }
    return options;
}

// Layers of experts, all with the same random numbers but each in memory of its own.
struct Layers {
    std::vector<std::byte> bytes;
    std::vector<std::vector<ExpertView>> layers;
    double expert_bytes = 0;

    Layers(DType dtype, const Options& o) {
        const std::size_t in = packed_bytes(dtype, o.width, o.hidden).value();
        const std::size_t out = packed_bytes(dtype, o.hidden, o.width).value();
        const std::size_t expert = 2 * in + out;
        expert_bytes = static_cast<double>(expert);
        std::vector<std::byte> first(expert);
        for (std::size_t i = 0; i < 2; ++i)
            pack_rows(dtype, test::random_weights(dtype, o.width, o.hidden, i).data(), o.width, o.hidden,
                      first.data() + i * in);
        pack_rows(dtype, test::random_weights(dtype, o.hidden, o.width, 3).data(), o.hidden, o.width,
                  first.data() + 2 * in);
        const auto experts = static_cast<std::size_t>(o.experts);
        layers.resize(std::max<std::size_t>(2, (std::size_t{1} << 30) / (expert * experts)));
        bytes.resize(expert * experts * layers.size() + 8192);
        std::byte* at = bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
        for (auto& layer : layers) {
            for (std::size_t e = 0; e < experts; ++e, at += expert) {
                std::memcpy(at, first.data(), expert);
                layer.push_back({.gate = {dtype, o.width, o.hidden, at},
                                 .up = {dtype, o.width, o.hidden, at + in},
                                 .down = {dtype, o.hidden, o.width, at + 2 * in}});
            }
        }
    }
};

RoutePlan uniform_plan(std::int64_t tokens, const Options& o, std::uint64_t seed) {
    test::Random random(seed);
    RoutePlan plan{.tokens = tokens, .choices = o.choices, .experts = o.experts};
    std::vector<std::int32_t> ids(static_cast<std::size_t>(o.experts));
    std::vector<std::vector<std::int32_t>> choices_of(ids.size());
    for (std::int64_t t = 0; t < tokens; ++t) {
        std::iota(ids.begin(), ids.end(), 0);
        for (std::size_t k = 0; k < static_cast<std::size_t>(o.choices); ++k) {
            std::swap(ids[k], ids[k + random.bits() % (ids.size() - k)]);
            choices_of[static_cast<std::size_t>(ids[k])].push_back(static_cast<std::int32_t>(plan.expert_ids.size()));
            plan.expert_ids.push_back(ids[k]);
            plan.weights.push_back(1.0F / static_cast<float>(o.choices));
        }
    }
    plan.slot_of_token_choice.resize(plan.expert_ids.size());
    plan.offsets = {0};
    for (const auto& choices : choices_of) {
        for (const std::int32_t choice : choices) {
            plan.slot_of_token_choice[static_cast<std::size_t>(choice)] =
                static_cast<std::int32_t>(plan.token_of_slot.size());
            plan.token_of_slot.push_back(choice / static_cast<std::int32_t>(o.choices));
        }
        plan.offsets.push_back(static_cast<std::int64_t>(plan.token_of_slot.size()));
    }
    return plan;
}

template <class Body>
double typical_seconds(const Options& o, const Body& body) {
    std::vector<double> seconds;
    const double start = bench::seconds_now();
    while (seconds.size() < 7 || (bench::seconds_now() - start < 0.7 && seconds.size() < 200)) {
        const double before = bench::seconds_now();
        body();
        seconds.push_back(bench::seconds_now() - before);
    }
    std::sort(seconds.begin(), seconds.end());
    return o.is_best ? seconds[0] : seconds[seconds.size() / 2];
}

void bench_format(DType dtype, const Options& o, const KernelTable& kernels, ParallelFor& threads,
                  const bench::Peaks& peaks) {
    const Layers weights(dtype, o);
    const ExpertSpec spec{.hidden_size = o.hidden, .expert_count = o.experts, .width = o.width};
    for (const std::string& text : o.tokens) {
        const std::int64_t tokens = std::atoll(text.c_str());
        const std::vector<float> x = test::random_activations(1, tokens * o.hidden, 2);
        std::vector<float> y(x.size());
        std::vector<RoutePlan> plans;
        double expert_reads = 0;
        for (std::uint64_t i = 0; i < 8; ++i) {
            plans.push_back(uniform_plan(tokens, o, i));
            for (std::size_t e = 0; e < static_cast<std::size_t>(o.experts); ++e)
                expert_reads += plans.back().offsets[e + 1] > plans.back().offsets[e] ? 0.125 : 0;
        }
        MixtureScratch scratch;
        if (!scratch.reserve(spec, tokens, o.choices)) return;
        std::size_t turn = 0;
        const double seconds = typical_seconds(o, [&] {
            const MixtureView view{weights.layers[turn % weights.layers.size()], {}, {}};
            run_mixture(kernels, threads, spec, view, x.data(), plans[turn++ % 8], scratch, y.data());
        });

        const std::int64_t wide = std::max(o.hidden, o.width);
        std::vector<ActivationBlock> blocks(static_cast<std::size_t>(tokens * wide / 32));
        quantise_activations(kernels, threads, x.data(), o.hidden, tokens, o.hidden, blocks.data(), o.hidden / 32);
        std::vector<float> sink(static_cast<std::size_t>(tokens * wide)), values(sink.size(), 0.5F);
        const double products = typical_seconds(o, [&] {
            const RoutePlan& plan = plans[turn % 8];
            const std::vector<ExpertView>& layer = weights.layers[turn++ % weights.layers.size()];
            for (std::size_t e = 0; e < layer.size(); ++e) {
                MatmulInput in{values.data(), o.hidden, blocks.data(), o.hidden / 32,
                               plan.offsets[e + 1] - plan.offsets[e]};
                matmul(kernels, threads, layer[e].gate, in, sink.data(), o.width);
                matmul(kernels, threads, layer[e].up, in, sink.data(), o.width);
                in.values_stride = o.width;
                in.blocks_stride = o.width / 32;
                matmul(kernels, threads, layer[e].down, in, sink.data(), o.hidden);
            }
        });

        const double ops = 6.0 * static_cast<double>(tokens * o.choices) * static_cast<double>(o.width * o.hidden);
        const double read = expert_reads * weights.expert_bytes;
        const double peak = reads_blocks(dtype) ? peaks.int8_ops_per_s : peaks.f32_ops_per_s;
        const double compute = peak > 0 ? ops / peak : 0;
        std::printf("%-6s T %4lld  %9.0f us  %7.1f Gop/s %5.2f  %6.2f GB/s %5.2f  limit %.2f  products %9.0f us %.2f\n",
                    std::string(dtype_name(dtype)).c_str(), static_cast<long long>(tokens), seconds * 1e6,
                    ops / seconds / 1e9, compute / seconds, read / seconds / 1e9,
                    read / peaks.read_bytes_per_s / seconds, std::max(compute, read / peaks.read_bytes_per_s) / seconds,
                    products * 1e6, products / seconds);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    const auto backend = choose_backend();
    const auto pool = ThreadPool::create(options.threads);
    if (!backend || !pool) return 1;
    for (const std::string& format : options.formats) {
        const bench::Peaks peaks = bench::measure_peaks(**pool);
        std::printf("%s, %d threads, H %lld, F %lld, E %lld, K %lld, read %.1f GB/s, int8 %.0f Gop/s, f32 %.0f Gop/s\n",
                    std::string((*backend)->name).c_str(), (*pool)->thread_count(),
                    static_cast<long long>(options.hidden), static_cast<long long>(options.width),
                    static_cast<long long>(options.experts), static_cast<long long>(options.choices),
                    peaks.read_bytes_per_s / 1e9, peaks.int8_ops_per_s / 1e9, peaks.f32_ops_per_s / 1e9);
        bench_format(dtype_from_name(format), options, *(*backend)->table, **pool, peaks);
    }
    return 0;
}
