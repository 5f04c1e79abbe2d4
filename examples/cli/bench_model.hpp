// The model part of `mixtura bench`: tokens per second of prefill, decode and batched decode, measured as
// tests/bench/peer_llama_cpp.py measures its peer, so that the two lines can stand side by side.
#pragma once

#include <mixtura/machine.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/compute_flags.hpp"
#include "cli/roofline.hpp"

namespace mixtura::cli {

struct ModelBenchOptions {
    ComputeFlags compute;
    std::int64_t prefill_tokens = 512;
    std::int64_t decode_tokens = 64;
    std::vector<std::int64_t> batch_sizes;
    int repeat_count = 3;
    bool as_json = false;
    bool has_profile = false;
};

// Prints a row a test.  With `rates` each tells its share of the limit too, and adds a point to `points`.
Status bench_model(const ModelBenchOptions& options, const std::optional<MachineRates>& rates,
                   std::vector<RooflinePoint>& points);

}  // namespace mixtura::cli
