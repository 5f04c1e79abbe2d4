// The one forward pass: tokens of some sequences in, logits of the rows asked for out.  It reads a ModelSpec and
// nothing of any family.  Every row's bits depend on its own sequence alone (design.md, the determinism rule).
#pragma once

#include <mixtura/kv_cache.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "experts/mixture.hpp"
#include "kernels/attention.hpp"
#include "memory/aligned_buffer.hpp"
#include "model/core.hpp"
#include "observe/op_clock.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// Consecutive rows of a step that belong to one sequence, at the positions the cache reserved for them.
struct StepSequence {
    SequenceId sequence{};
    std::int64_t first_row = 0;
    std::int64_t row_count = 0;
    std::int64_t first_position = 0;
    // How long the sequence may become, said when it began and the same in each of its steps; 0: the model's own
    // context.  Only length-dependent rotary scalings read it.
    std::int64_t limit_tokens = 0;
};

// A sequence whose hidden state stopped being finite: where it was seen first.
struct NonFinite {
    std::size_t sequence = 0;  // index into Step::sequences
    std::int64_t layer = 0;    // layer count: in the logits; -1: in the embedding
    std::int64_t position = 0;
};

// hidden [T, H] before layer `layer`, or after the final norm (layer = layer count); valid during the call.
using HiddenCallback = std::function<void(std::int64_t layer, std::span<const float> hidden)>;
// Where the rows of a step go in a mixture layer; valid during the call.
using RouteCallback = std::function<void(std::int64_t layer, const RoutePlan& plan)>;

struct Step {
    std::span<const TokenId> tokens;           // [T], in [0, V)
    std::span<const StepSequence> sequences;   // in row order, covering all T rows
    std::span<const std::int64_t> logit_rows;  // rows whose logits are wanted, ascending
    HiddenCallback on_hidden = {};             // may be empty
    RouteCallback on_route = {};               // may be empty
};

class ForwardPass {
  public:
    // At most `rows_max` rows a step; the scratch memory for them is taken here.  `backend`: another than the core's
    // own.  `op_times`, borrowed: gets the time of every step added.  `policies`: of the layers' routers, [L] and
    // checked; empty: the spec's.
    static Result<ForwardPass> create(std::shared_ptr<const ModelCore> core, std::int64_t rows_max,
                                      const Backend* backend = nullptr, OpTimes* op_times = nullptr,
                                      std::vector<RouterPolicy> policies = {}) noexcept;

    // Bytes of scratch that create() takes.
    static std::uint64_t scratch_bytes(const ModelSpec& spec, std::int64_t rows_max) noexcept;

    // logits [logit_rows, V], overwritten.  `failed` gets each sequence that went non-finite; the others are unharmed.
    // Threads: per-object.
    Status run(const Step& step, KVCache& cache, ParallelFor& threads, std::span<float> logits,
               std::vector<NonFinite>& failed);

    // Reads sources with the encoder: each sequence of the step is a whole source, from position 0 on, for whose rows
    // the cache has room (KVCache::append_source).  No logits.
    Status encode(const Step& step, KVCache& cache, ParallelFor& threads, std::vector<NonFinite>& failed);

    const ModelCore& core() const noexcept { return *core_; }

  private:
    // Slices of buffer_, [rows_max, width] each.
    struct Scratch {
        float *hidden, *normed, *query, *key, *value, *mixed, *latent, *gate, *up, *inner, *router, *cosines, *sines;
        ActivationBlock* blocks;
    };

    ForwardPass() = default;
    const RouterPolicy& policy(std::size_t layer) const noexcept;
    Status check_step(const Step& step) const;
    // What every step begins with, and the layers from `first` to before `last`.
    void begin_step(const Step& step, ParallelFor& threads, std::vector<NonFinite>& failed);
    Status run_layers(std::size_t first, std::size_t last, const Step& step, KVCache& cache, ParallelFor& threads,
                      std::vector<NonFinite>& failed);
    void embed(const Step& step, ParallelFor& threads) noexcept;
    Status attention_part(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    void grouped_inputs(std::size_t layer, const Step& step, ParallelFor& threads) noexcept;
    void latent_inputs(std::size_t layer, const Step& step, ParallelFor& threads) noexcept;
    // Heads through experts: their queries, and what their outputs add up to in scratch_.normed.
    Status routed_queries(std::size_t layer, std::int64_t rows, ParallelFor& threads);
    void routed_output(std::size_t layer, std::int64_t rows, ParallelFor& threads) noexcept;
    // What the layer's heads make of the past, [T, values of all heads]; in scratch.
    Result<const float*> see_past(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    Result<const float*> recur(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    void recurrent_inputs(std::size_t layer, std::int64_t rows, ParallelFor& threads) noexcept;
    AttentionShape shape_of(std::size_t layer) const noexcept;
    Status attend(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    // An encoder's: every row of a sequence sees all of its rows, which are this step's and in no cache.
    void attend_both_ways(std::size_t layer, const Step& step, ParallelFor& threads);
    // A decoder's attention to the encoder's output, and where its keys and values come from.
    Status cross_part(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    Status write_source(std::size_t layer, const Step& step, KVCache& cache, ParallelFor& threads);
    void rotate(const RopeSpec& rope, float* x, std::int64_t rows, std::int64_t row_stride, std::int64_t heads,
                std::int64_t head_stride, ParallelFor& threads) noexcept;
    void dense_part(std::size_t layer, std::int64_t rows, ParallelFor& threads) noexcept;
    Status mixture_part(std::size_t layer, const Step& step, ParallelFor& threads, std::vector<NonFinite>& failed);
    void add_to_hidden(const LayerSpec& layer, const float* x, std::int64_t rows, ParallelFor& threads) noexcept;
    void rotations(const RopeSpec& rope, const Step& step, ParallelFor& threads) noexcept;
    // y = W x + b; `blocks_are_ready` says that the last call had the same x.  y_stride 0: dense.
    void linear(const Linear& weights, const float* x, std::int64_t rows, float* y, ParallelFor& threads,
                bool blocks_are_ready, std::int64_t y_stride = 0) noexcept;
    void norm(const NormSpec& spec, const Norm& weights, const float* x, std::int64_t rows, std::int64_t width,
              float* y, ParallelFor& threads, std::int64_t stride = 0) noexcept;  // stride 0: dense
    void find_non_finite(std::int64_t layer, const Step& step, ParallelFor& threads, std::vector<NonFinite>& failed);

    std::shared_ptr<const ModelCore> core_;
    const KernelTable* kernels_ = nullptr;
    std::int64_t rows_max_ = 0;
    OpClock clock_;
    AlignedBuffer buffer_;
    Scratch scratch_{};
    MixtureScratch mixture_scratch_;
    RoutePlan plan_, head_plan_;
    std::vector<std::int32_t> positions_;
    std::vector<float> frequencies_;  // room for one sequence's own
    std::vector<unsigned char> bad_rows_;
    std::vector<RouterPolicy> policies_;      // [L]; empty: the spec's
    std::vector<std::vector<float>> slopes_;  // per layer: ALiBi, [query heads]
    std::vector<std::vector<float>> biases_;  // per layer: bias_by_distance()
    std::vector<std::vector<const std::byte*>> block_tables_;
    std::vector<KVStateStep> state_steps_;  // of each sequence, in the layer at hand
    int ready_rope_ = -1;                   // whose tables are in cosines, sines
};

}  // namespace mixtura
