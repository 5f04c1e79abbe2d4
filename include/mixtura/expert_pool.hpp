// ExpertPool: the experts of one layer.  Usable alone: hidden states and a RoutePlan in, the mixed output out.
//   y[t] = Σ_k weight[t, k] · expert_{id[t, k]}(x[t])  (+ shared(x[t])),   k in the plan's order, shared last
//   expert(x) = down · act(gate · x, up · x)   or, without a gate matrix,   down · act(up · x)
// The bits of y[t] depend on x[t] and its choices alone, not on the other tokens, the threads or the instruction set.
#pragma once

#include <mixtura/router.hpp>
#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mixtura {

enum class ExpertActivation : std::int32_t { silu = 0, gelu = 1, gelu_tanh = 2, quick_gelu = 3, relu = 4 };

// Where a choice's weight is multiplied in.
enum class WeightAt : std::int32_t { output = 0, input = 1 };  // input: Llama 4

struct ExpertSpec {
    std::int64_t hidden_size = 0;   // H
    std::int64_t expert_count = 0;  // E
    std::int64_t width = 0;         // F of a routed expert
    ExpertActivation activation = ExpertActivation::silu;
    bool is_gated = true;
    float clamp_limit = 0.0F;  // > 0: gpt-oss' clamped form, (up + 1) · gate · sigmoid(alpha · gate)
    float clamp_alpha = 1.702F;
    WeightAt weight_at = WeightAt::output;

    std::int64_t shared_width = 0;   // 0: no shared expert; several are one of their summed width
    bool is_shared_weighed = false;  // the shared output times sigmoid(shared_gate · x) (Qwen2-MoE)
    float shared_scale = 1.0F;       // multiplies the shared output
};

// A weight matrix [rows, columns] as a file or a framework has it: row-major blocks of `dtype`, rows `row_stride_bytes`
// apart (0: dense).  Borrowed for the call that takes it.
struct ExpertMatrix {
    const void* data = nullptr;
    DType dtype = DType::unknown;
    std::int64_t row_stride_bytes = 0;
};
struct ExpertTensors {
    ExpertMatrix gate;                 // [F, H]; unused where the experts have no gate
    ExpertMatrix up;                   // [F, H]
    ExpertMatrix down;                 // [H, F]
    const float* gate_bias = nullptr;  // [F], nullptr: none
    const float* up_bias = nullptr;    // [F]
    const float* down_bias = nullptr;  // [H]
};
struct ExpertWeights {
    std::vector<ExpertTensors> experts = {};  // [E]; experts that name the same data share one copy of it
    ExpertTensors shared = {};
    ExpertMatrix shared_gate = {};  // [1, H]
};

struct ExpertPoolOptions {
    int thread_count = 1;  // of run(), the caller included; 0: as many as this process may keep busy
};

// What a pool has done since it was made.
struct ExpertPoolCounters {
    std::uint64_t tokens = 0;
    std::uint64_t expert_runs = 0;  // (expert, call) pairs: how often an expert's weights were read
    std::uint64_t choices = 0;      // (token, expert) pairs
};

class ExpertPool {
  public:
    // Packs the weights into memory of its own.  INVALID_ARGUMENT: sizes below 1 or above 2^24, a matrix missing;
    // UNSUPPORTED: a dtype no kernel multiplies; OUT_OF_HOST_MEMORY.
    static Result<ExpertPool> create(const ExpertWeights& weights, const ExpertSpec& spec,
                                     const ExpertPoolOptions& options = {}) noexcept;

    const ExpertSpec& spec() const noexcept;
    std::uint64_t weight_bytes() const noexcept;  // in memory; shared matrices once
    ExpertPoolCounters counters() const noexcept;

    // hidden [T, H] f32 · plan of T tokens over E experts, grouped · output [T, H], overwritten, overlaps nothing.  A
    // token without a choice gets the shared expert's output, or zeros.  INVALID_ARGUMENT: sizes that do not match, a
    // plan whose grouped view contradicts itself; OUT_OF_HOST_MEMORY for scratch.
    // Threads: any-thread; calls take turns.   Blocks: no.
    Status run(std::span<const float> hidden, const RoutePlan& plan, std::span<float> output) const noexcept;

    ExpertPool(ExpertPool&&) noexcept;
    ExpertPool& operator=(ExpertPool&&) noexcept;
    ~ExpertPool();

    struct State;
    explicit ExpertPool(std::unique_ptr<State> state) noexcept;  // for the library's own use

  private:
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
