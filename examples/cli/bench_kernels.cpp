#include "cli/bench_kernels.hpp"

#include <mixtura/expert_pool.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace mixtura::cli {
namespace {

constexpr std::int64_t kHidden = 2048, kWidth = 1024, kChoices = 8;
// As long as it takes for a scheduler's turn not to matter; the median of the rounds does the rest.
constexpr double kRoundSeconds = 0.05;

// The 16 bits at `offset` of every block keep the random bits of `kept` and have `set` besides.
struct Field {
    DType dtype;
    std::size_t offset;
    unsigned kept, set;
};
// Scales of block formats are 2^-9, plain numbers ±1/128 to 1/64: random bits would be infinite or NaN now and then.
constexpr Field kFields[] = {
    {DType::q4_0, 0, 0, 0x1800},       {DType::q4_1, 0, 0, 0x1800},        {DType::q4_1, 2, 0, 0x9800},
    {DType::q5_0, 0, 0, 0x1800},       {DType::q5_1, 0, 0, 0x1800},        {DType::q5_1, 2, 0, 0x9800},
    {DType::q8_0, 0, 0, 0x1800},       {DType::q2_k, 80, 0, 0x1800},       {DType::q2_k, 82, 0, 0x1800},
    {DType::q3_k, 108, 0, 0x1800},     {DType::q4_k, 0, 0, 0x1800},        {DType::q4_k, 2, 0, 0x1800},
    {DType::q5_k, 0, 0, 0x1800},       {DType::q5_k, 2, 0, 0x1800},        {DType::q6_k, 208, 0, 0x1800},
    {DType::iq4_nl, 0, 0, 0x1800},     {DType::iq4_xs, 0, 0, 0x1800},      {DType::mxfp4, 0, 0xFF00, 0x0077},
    {DType::f16, 0, 0x83FF, 0x2000},   {DType::f32, 2, 0x807F, 0x3C00},    {DType::bf16, 0, 0x807F, 0x3C00},
    {DType::int4_32, 0, 0, 0x1800},    {DType::int4_64, 0, 0, 0x1800},     {DType::int4_128, 0, 0, 0x1800},
    {DType::f8_e4m3_32, 2, 0, 0x3B00}, {DType::f8_e4m3_128, 2, 0, 0x3B00}, {DType::nf4, 2, 0, 0x3B00},
};

bool is_scaled_f8(DType dtype) { return dtype == DType::f8_e4m3_32 || dtype == DType::f8_e4m3_128; }

std::size_t row_bytes(DType dtype, std::int64_t columns) {
    const DTypeInfo& info = dtype_info(dtype);
    return static_cast<std::size_t>(columns / info.block_elements * info.block_bytes);
}

std::vector<std::byte> random_rows(DType dtype, std::int64_t rows, std::int64_t columns) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * row_bytes(dtype, columns));
    std::mt19937_64 random(0);
    const unsigned mask = is_scaled_f8(dtype) ? 0xBF : 0xFF;  // no code is NaN
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & mask);
    const auto block = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
    for (const Field& field : kFields) {
        if (field.dtype != dtype) continue;
        for (std::size_t at = field.offset; at < bytes.size(); at += block) {
            const unsigned found = std::to_integer<unsigned>(bytes[at]) | std::to_integer<unsigned>(bytes[at + 1]) << 8;
            const unsigned tamed = (found & field.kept) | field.set;
            bytes[at] = static_cast<std::byte>(tamed & 0xFF);
            bytes[at + 1] = static_cast<std::byte>(tamed >> 8);
        }
    }
    return bytes;
}

// Experts that take `megabytes` as a file has them, at least two groups of kChoices.  They are cut out of one random
// matrix, each a row further than the one before: distinct to the pool, which keeps one copy of equal data.
Result<ExpertPool> make_pool(DType dtype, std::uint64_t megabytes, int thread_count) {
    const std::size_t in_row = row_bytes(dtype, kHidden), out_row = row_bytes(dtype, kWidth);
    const std::uint64_t expert_bytes = 3 * static_cast<std::uint64_t>(kWidth) * in_row;
    const auto groups = static_cast<std::int64_t>(megabytes * 1'000'000 / (expert_bytes * kChoices));
    const std::int64_t count = kChoices * std::max<std::int64_t>(2, groups);
    const std::vector<std::byte> in = random_rows(dtype, kWidth + 2 * count, kHidden);
    const std::vector<std::byte> out = random_rows(dtype, kHidden + count, kWidth);
    ExpertWeights weights;
    for (std::size_t e = 0; e < static_cast<std::size_t>(count); ++e) {
        ExpertTensors tensors;
        tensors.gate = {in.data() + 2 * e * in_row, dtype, 0};
        tensors.up = {in.data() + (2 * e + 1) * in_row, dtype, 0};
        tensors.down = {out.data() + e * out_row, dtype, 0};
        weights.experts.push_back(tensors);
    }
    return ExpertPool::create(weights, {.hidden_size = kHidden, .expert_count = count, .width = kWidth},
                              {.thread_count = thread_count});
}

// Every token goes to the same kChoices experts; a plan for each group of them.
Result<std::vector<RoutePlan>> make_plans(std::int64_t tokens, std::int64_t experts) {
    std::vector<RoutePlan> plans;
    for (std::int64_t first = 0; first < experts; first += kChoices) {
        RoutePlan plan;
        plan.tokens = tokens;
        plan.choices = kChoices;
        for (std::int64_t i = 0; i < tokens * kChoices; ++i) {
            plan.expert_ids.push_back(static_cast<std::int32_t>(first + i % kChoices));
            plan.weights.push_back(1.0F / kChoices);
        }
        if (Status status = plan.group(experts); !status.is_ok()) return status;
        plans.push_back(std::move(plan));
    }
    return plans;
}

// Median seconds of one run.
Result<double> run_seconds(const ExpertPool& pool, std::int64_t tokens, int repeat_count) {
    auto plans = make_plans(tokens, pool.spec().expert_count);
    if (!plans) return plans.status();
    std::vector<float> hidden(static_cast<std::size_t>(tokens * kHidden)), output(hidden.size());
    std::mt19937_64 random(1);
    for (float& x : hidden) x = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
    std::vector<double> seconds;
    std::size_t turn = 0;
    for (int round = 0; round <= repeat_count; ++round) {  // the first one warms up
        const auto begin = std::chrono::steady_clock::now();
        double spent = 0;
        int calls = 0;
        do {
            if (Status status = pool.run(hidden, (*plans)[turn++ % plans->size()], output); !status.is_ok())
                return status;
            ++calls;
            spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        } while (spent < kRoundSeconds && round > 0);
        if (round > 0) seconds.push_back(spent / calls);
    }
    std::sort(seconds.begin(), seconds.end());
    return (seconds[seconds.size() / 2] + seconds[(seconds.size() - 1) / 2]) / 2;
}

}  // namespace

double KernelRate::compute_share(const MachineRates& rates) const noexcept {
    return ops_per_s / (is_integer ? rates.integer_ops_per_s : rates.float_ops_per_s);
}
double KernelRate::bandwidth_share(const MachineRates& rates) const noexcept {
    return bytes_per_s / rates.read_bytes_per_s;
}

Status measure_kernels(const KernelBenchOptions& options, const std::function<void(const KernelRate&)>& on_rate) {
    for (const DType format : options.formats) {
        const auto pool = make_pool(format, options.megabytes, options.thread_count);
        if (!pool) return pool.status();
        const double experts = static_cast<double>(pool->spec().expert_count) / kChoices;
        const double bytes = static_cast<double>(pool->weight_bytes()) / experts;
        for (const std::int64_t tokens : options.tokens_per_expert) {
            const auto seconds = run_seconds(*pool, tokens, options.repeat_count);
            if (!seconds) return seconds.status();
            const double ops =
                2.0 * 3.0 * static_cast<double>(kChoices * tokens) * static_cast<double>(kHidden * kWidth);
            const bool is_integer =
                dtype_info(format).block_elements > 1 && format != DType::nf4 && !is_scaled_f8(format);
            on_rate({format, tokens, ops / *seconds, bytes / *seconds, ops / bytes, is_integer});
        }
    }
    return {};
}

}  // namespace mixtura::cli
