// What 16- and 32-bit weights become while they are loaded: an element type by role, so that a checkpoint as it was
// published fits into memory without another program and another file.  Tensors that a file holds in fewer bits, norms,
// biases, embedding tables and routers stay as they are: a router below 16 bit sends tokens elsewhere.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

// Of the matrices of one role.  all: every role below; experts: the routed ones; experts.gate, experts.up,
// experts.down; shared: a mixture's shared expert (shared.gate ...); ffn: of dense layers (ffn.gate ...);
// attention (attention.query, attention.key, attention.value, attention.output ...); head: a token embedding that is
// the head as well goes with it.
struct WeightRule {
    std::string role;
    DType dtype = DType::unknown;  // unknown: as the file has it
};

// Later rules go before earlier ones; without a rule for it a role stays as it is.
struct WeightMix {
    std::vector<WeightRule> rules = {};

    bool keeps_all() const noexcept { return rules.empty(); }
};

// "keep"; "mixed" (experts q4_k but their up-projections q8_0, all else q6_k); an element type for all roles, as in
// "q8_0"; or rules between commas, as in "mixed,head=q8_0" or "experts=q4_0,attention=keep".  Element types: f16, bf16,
// q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k, iq4_nl, mxfp4, and the forms that AWQ, GPTQ, bitsandbytes and FP8
// checkpoints take in memory: int4_32, int4_64, int4_128, nf4, f8_e4m3_32, f8_e4m3_128 (4-bit codes with a scale and a
// zero point, or quantiles, or 8-bit floats, each by so many elements).  Where a matrix' columns are no multiple of 256,
// q4_k becomes q5_0, q5_k q5_1 and q6_k q8_0; no multiple of 128 or 64, the form with the next smaller blocks is taken,
// and q5_0 for nf4; where they are no multiple of 32, or the file's type has no more bits than that, it stays.
// INVALID_ARGUMENT, naming what was not understood.  Threads: any-thread.
Result<WeightMix> parse_weight_mix(std::string_view text) noexcept;

// What was lost with one matrix.
struct WeightError {
    std::string role;  // "layers.3.experts.17.up.weight"
    std::string kind;  // "experts.up"
    DType from = DType::unknown, to = DType::unknown;
    std::uint64_t parameter_count = 0;
    double error_sum = 0;   // Σ (w - w')²
    double square_sum = 0;  // Σ w²
    double largest = 0;     // max |w - w'|
};

}  // namespace mixtura
