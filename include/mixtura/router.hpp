// Router: which experts a token goes to, and with what weight.  Usable alone: hidden states in, RoutePlan out.
// What a checkpoint asks for is its RouterPolicy; a caller may hand route() another one (temperature, mask, capacity,
// fewer experts) without touching the model.  Everything a Router answers is a pure function of its arguments.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mixtura {

// How logits become the scores that choose and weigh.
enum class RouterScoring : std::int32_t {
    softmax = 0,            // over all experts; weight = probability (Shazeer et al. 2017, arXiv 1701.06538)
    sigmoid = 1,            // of each logit (DeepSeek-V3, arXiv 2412.19437, (15))
    softmax_of_chosen = 2,  // choose by logit, then softmax over the chosen (Mixtral, arXiv 2401.04088; gpt-oss)
    sparsemixer = 3,        // Phi-3.5-MoE (arXiv 2409.12136): see RouterPolicy::sparsemixer_epsilon
};

// What a group of experts is worth when only the best groups may be chosen from.
enum class GroupScore : std::int32_t {
    largest = 0,         // its best expert (DeepSeek-V2, arXiv 2405.04434, 2.2.2)
    sum_of_top_two = 1,  // its two best (DeepSeek-V3)
};

// What happens to a choice whose expert is full.
enum class CapacityOverflow : std::int32_t {
    next_best = 0,  // the best expert with room that the token has not chosen yet; dropped only if there is none
    drop = 1,
};

// Every default changes nothing; a checkpoint's own policy is Router::policy().
struct RouterPolicy {
    RouterScoring scoring = RouterScoring::softmax;
    std::int64_t top_k = 1;  // experts of a token, 1 to expert count

    bool renormalise = false;        // the chosen weights are divided by their sum (equal shares where that is 0)
    float renormalise_floor = 0.0F;  // ... or by this where the sum is smaller (ERNIE)
    float renormalise_bias = 0.0F;   // ... plus this (DeepSeek-V3: 1e-20)
    float routed_scale = 1.0F;       // multiplies the weights at the end

    std::int64_t group_count = 1;  // experts lie in groups of equal size
    std::int64_t groups_kept = 1;  // only the experts of so many groups may be chosen
    GroupScore group_score = GroupScore::largest;

    float sparsemixer_epsilon = 0.01F;  // logits further than 2 epsilon (relative) below the largest do not count

    float temperature = 1.0F;                          // logits are divided by it
    std::optional<float> logit_clamp = {};             // logits are cut to ± this, before the temperature
    std::optional<float> cumulative_probability = {};  // (0, 1]: only as many of the top_k as reach this share of
                                                       // the probability (softmax over all experts); at least one
    std::vector<bool> is_masked = {};                  // [E] or empty: experts that may not be chosen
    std::optional<float> capacity_factor = {};         // an expert takes ceil(T · top_k / E · factor) choices, T
                                                       // without padding; tokens in order, best choice first
    CapacityOverflow overflow = CapacityOverflow::next_best;
    bool renormalise_after_drop = false;  // a dropped choice's weight goes to the token's others, in proportion
};

struct RouterSpec {
    std::int64_t hidden_size = 0;
    std::int64_t expert_count = 0;
    std::int64_t gate_width = 0;  // of the inner layer of a two-layer gate; 0: one layer
    bool is_inner_relu = true;    // two-layer gate: relu between the layers, else silu
    RouterPolicy policy = {};     // what the checkpoint asks for
};

// Bare tensors, row-major, borrowed for the call that takes them.  F32, F16 or BF16: a router is never below 16 bit.
struct RouterTensor {
    const void* data = nullptr;
    DType dtype = DType::f32;
};
struct RouterWeights {
    RouterTensor gate = {};            // [E, H]; of a two-layer gate [E, gate_width]
    RouterTensor inner_gate = {};      // two-layer gate only: [gate_width, H]
    RouterTensor gate_bias = {};       // [E], added to the logits; data nullptr: none
    RouterTensor selection_bias = {};  // [E], added to the scores for the choice, never in a weight; nullptr: none
};

struct RouteCounters {
    std::vector<std::int64_t> load = {};  // [E] choices each expert got
    std::int64_t dropped = 0;             // choices that found no room
    std::int64_t rerouted = 0;            // choices that went to a next best expert
    std::int64_t clamped = 0;             // logits that logit_clamp changed
    std::int64_t non_finite = 0;          // tokens with a NaN or infinite logit, or none that may be chosen
    std::int64_t padding = 0;             // tokens that the padding mask left out
};

// Memory that the router keeps in a plan from call to call; nothing in it means anything to a caller, and copies of a
// plan start without it.
struct RouteScratch {
    std::vector<float> logits = {};         // [T, E], and behind them [T, gate_width]
    std::vector<float> rows = {};           // some rows of E for each thread
    std::vector<std::int32_t> order = {};   // [threads, E]
    std::vector<std::int64_t> counts = {};  // [threads] or [E]
    std::vector<std::uint8_t> states = {};  // [T]

    RouteScratch() noexcept = default;
    RouteScratch(const RouteScratch&) noexcept {}
    RouteScratch(RouteScratch&&) noexcept = default;
    RouteScratch& operator=(const RouteScratch&) noexcept { return *this; }
    RouteScratch& operator=(RouteScratch&&) noexcept = default;
    ~RouteScratch() = default;
};

// T tokens, K = the policy's top_k.  Slots are (token, choice) pairs sorted by expert, within an expert by token.
struct RoutePlan {
    std::int64_t tokens = 0;
    std::int64_t choices = 0;  // K
    std::int64_t experts = 0;  // E

    std::vector<std::int32_t> expert_ids = {};        // [T, K], by selection score descending; -1: unused
    std::vector<float> weights = {};                  // [T, K]; 0 where unused
    std::vector<std::int32_t> experts_of_token = {};  // [T], 0 to K: the used choices come first

    std::vector<std::int64_t> offsets = {};               // [E + 1]: expert e has slots [offsets[e], offsets[e + 1])
    std::vector<std::int32_t> token_of_slot = {};         // [slots]
    std::vector<std::int32_t> slot_of_token_choice = {};  // [T, K]; -1 where unused
    std::vector<std::int64_t> non_finite_tokens = {};     // ascending

    RouteCounters counters = {};
    RouteScratch scratch = {};

    // Makes the grouped view (offsets, token_of_slot, slot_of_token_choice, experts_of_token, load) from expert_ids and
    // weights, by a stable counting sort: for plans a caller wrote or stored.  INVALID_ARGUMENT: sizes that contradict
    // tokens and choices, an id outside [-1, E), an expert twice in a token, a used choice behind an unused one.
    Status group(std::int64_t expert_count) noexcept;
};

class Router {
  public:
    // Copies the weights.  INVALID_ARGUMENT: sizes below 1 or above 2^24, a policy that check() refuses, a tensor
    // missing or below 16 bit; OUT_OF_HOST_MEMORY.
    static Result<Router> create(const RouterWeights& weights, const RouterSpec& spec) noexcept;

    const RouterSpec& spec() const noexcept;
    const RouterPolicy& policy() const noexcept;  // what the checkpoint asks for

    // INVALID_ARGUMENT with a sentence that names the field: top_k of 0 or above E, every expert masked, groups that
    // do not divide E or hold fewer experts than top_k, a temperature that is not positive, ...
    static Status check(const RouterPolicy& policy, std::int64_t expert_count) noexcept;

    // hidden [T, H] f32 · padding_mask [T], 0 for rows of padding, or empty · plan: overwritten, its memory reused.
    // A token with a non-finite logit is routed to experts 0 to K-1 (the first K that are not masked) with weights 1/K,
    // and counted.  INVALID_ARGUMENT as check() or for spans of another size.  Threads: any-thread (each with a plan of
    // its own).   Blocks: no.
    Status route(std::span<const float> hidden, const RouterPolicy& policy, std::span<const std::uint8_t> padding_mask,
                 RoutePlan& plan) const noexcept;
    // logits [T, E], as the gate gives them; for whoever wants to choose by other rules.
    Status logits(std::span<const float> hidden, std::span<float> logits) const noexcept;
    // The same choice from logits that somebody else computed.
    static Status route_logits(std::span<const float> logits, std::span<const float> selection_bias,
                               const RouterPolicy& policy, std::int64_t expert_count,
                               std::span<const std::uint8_t> padding_mask, RoutePlan& plan) noexcept;

    Router(Router&&) noexcept;
    Router& operator=(Router&&) noexcept;
    ~Router();

    struct State;
    explicit Router(std::unique_ptr<State> state) noexcept;  // for the library's own use

  private:
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
