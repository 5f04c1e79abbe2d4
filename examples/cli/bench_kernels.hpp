// The kernel part of `mixtura bench`: how fast experts of each format multiply, by tokens an expert gets.
#pragma once

#include <mixtura/machine.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace mixtura::cli {

struct KernelBenchOptions {
    std::vector<DType> formats{DType::q4_k,     DType::q4_0,   DType::q8_0,       DType::q6_k,        DType::q5_k,
                               DType::q2_k,     DType::q3_k,   DType::q4_1,       DType::q5_0,        DType::q5_1,
                               DType::iq4_nl,   DType::iq4_xs, DType::mxfp4,      DType::int4_32,     DType::int4_64,
                               DType::int4_128, DType::nf4,    DType::f8_e4m3_32, DType::f8_e4m3_128, DType::bf16,
                               DType::f16,      DType::f32};  // every one that experts can have
    std::vector<std::int64_t> tokens_per_expert{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128};
    std::uint64_t megabytes = 768;  // of weights to go through, so that they come from memory and not from a cache
    int thread_count = 0;
    int repeat_count = 3;
};

// A median run: 8 experts of OLMoE's shape (hidden 2048, width 1024), each with `tokens` tokens.
struct KernelRate {
    DType format = DType::unknown;
    std::int64_t tokens = 0;
    double ops_per_s = 0;    // of the three products; a product and its sum are two
    double bytes_per_s = 0;  // of weights
    double ops_per_byte = 0;
    bool is_integer = false;  // multiplied in 8-bit integers; else in f32

    double compute_share(const MachineRates& rates) const noexcept;
    double bandwidth_share(const MachineRates& rates) const noexcept;
};

// Calls `on_rate` for each format and number of tokens, as soon as it is known.
Status measure_kernels(const KernelBenchOptions& options, const std::function<void(const KernelRate&)>& on_rate);

}  // namespace mixtura::cli
