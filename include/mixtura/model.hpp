// Model: a checkpoint's weights in memory, ready to multiply, with its tokenizer and chat template.  Immutable once
// open; share it between threads, generations and chats.
#pragma once

#include <mixtura/cache_dtypes.hpp>
#include <mixtura/chat_template.hpp>
#include <mixtura/checkpoint.hpp>
#include <mixtura/expert_pool.hpp>
#include <mixtura/router.hpp>
#include <mixtura/sampler.hpp>
#include <mixtura/tokenizer.hpp>
#include <mixtura/weight_mix.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct ModelOptions {
    int thread_count = 0;  // for loading, and of experts(); 0: as many as this process may keep busy
    // Called on the opening thread with bytes loaded so far and in all; Flow::stop cancels (CANCELLED).
    std::function<Flow(std::uint64_t bytes_done, std::uint64_t bytes_total)> on_progress = {};
    WeightMix weights = {};  // what 16- and 32-bit weights become on the way into memory
};

// Weights of one role over all layers, as they will lie in memory.
struct RoleMemory {
    std::string role;  // "layers.#.ffn.up.weight", "layers.#.experts.up.weight"
    std::uint64_t tensor_count = 0;
    std::uint64_t parameter_count = 0;          // numbers in them; a tensor that two roles read counts for both
    std::uint64_t integer_parameter_count = 0;  // those multiplied in 8-bit integers; the others are in f32
    std::uint64_t size_bytes = 0;  // 0 where another role's memory serves: a token embedding that is the head as well
};

// What one token has to do with the weights, three ways; beside an encoder, one of the answer.
struct TokenCost {
    std::uint64_t routed_parameters = 0;      // of the experts chosen for it, over all layers; shared ones apart
    std::uint64_t multiplied_parameters = 0;  // all it is multiplied with: these, and everything but embedding tables
    // Of weights as they lie in memory, one row of each embedding table included (none of one that is the head, which
    // is read whole); keys and values come on top.  At most: experts that share a matrix count as if each had its own.
    std::uint64_t read_bytes = 0;
};

// Weights on one NUMA node.
struct NodeMemory {
    int node = 0;  // the system's number for it
    std::uint64_t size_bytes = 0;
};

// What opening a model and a context will take, from its headers alone.
struct MemoryForecast {
    std::vector<RoleMemory> roles;
    TokenCost token;
    std::uint64_t weight_bytes = 0;   // sum of the roles
    std::uint64_t cache_bytes = 0;    // keys, values and states of one sequence of `context_tokens`, and of a source as
                                      // long where there is an encoder
    std::uint64_t scratch_bytes = 0;  // of a forward pass
    std::int64_t context_tokens = 0;
    // Where the weights will lie when the model is opened with as many threads as this process may keep busy: together
    // weight_bytes.  Empty where this process runs on one NUMA node.
    std::vector<NodeMemory> nodes = {};
};

class Model {
  public:
    // Opens what Checkpoint::open opens and loads its weights.  Errors: as there; UNKNOWN_ARCHITECTURE; UNSUPPORTED (a
    // value of the configuration, or an element type, that this version does not compute with); OUT_OF_HOST_MEMORY;
    // CANCELLED. Blocks on the disk.  Threads: any-thread.
    static Result<Model> open(const std::string& path, const ModelOptions& options = {}) noexcept;

    // Reads headers only.  `context_tokens` 0: the model's own context.  INVALID_ARGUMENT for a pair that the model
    // cannot keep its keys and values in.
    static Result<MemoryForecast> forecast(const std::string& path, std::int64_t context_tokens = 0,
                                           CacheDTypes cache_dtype = DType::f16,
                                           const WeightMix& weights = {}) noexcept;

    // All const members: any-thread.  References and views live as long as the Model or a copy of it.
    const std::string& path() const noexcept;
    const ModelFacts& facts() const noexcept;
    std::span<const std::string> warnings()
        const noexcept;                           // of the checkpoint, and configuration keys that were not used
    std::uint64_t weight_bytes() const noexcept;  // in memory
    // Of them, what the system agreed to keep on each NUMA node; where it did not, they lie wherever it put them. Empty
    // where there is one node, or one thread opened the model.
    std::span<const NodeMemory> weight_nodes() const noexcept;
    // What ModelOptions::weights quantised, matrix by matrix in layer order; those that share one matrix: the first.
    std::span<const WeightError> weight_errors() const noexcept;
    std::string_view backend() const noexcept;  // "avx512_vnni", …
    const SamplingOptions& sampling_defaults()
        const noexcept;  // of generation_config.json; greedy where it states nothing

    // What was found beside the weights, or why there is none; a model without a vocabulary still computes.
    const Result<Tokenizer>& tokenizer() const noexcept;
    const Result<ChatTemplate>& chat_template() const noexcept;

    // With an encoder's layers, which come first, where there is one.
    std::int64_t layer_count() const noexcept;
    bool has_encoder() const noexcept;  // it reads a source and writes about it: generation.hpp says how
    // The router and the experts of one layer, over the model's own weights, for those who bring their own attention;
    // nullptr for a dense layer or a number that is none.
    const Router* router(std::int64_t layer) const noexcept;
    const ExpertPool* experts(std::int64_t layer) const noexcept;

    struct State;
    const std::shared_ptr<const State>& state() const noexcept { return state_; }  // for the library's own use
    explicit Model(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

  private:
    std::shared_ptr<const State> state_;  // shared by copies; immutable
};

}  // namespace mixtura
