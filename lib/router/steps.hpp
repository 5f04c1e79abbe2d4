// The steps from one token's logits to its experts and weights, each a pure function of its arguments; README.md has
// the formulas in one table.  Called by choose_experts.cpp (every step, row by row) and capacity.cpp (the keys again,
// where a choice met a full expert).  Rows hold E floats.  An expert that may not be chosen has the logit or key -inf;
// no other infinity and no NaN gets past is_finite_row.
#pragma once

#include <mixtura/router.hpp>

#include <cstdint>
#include <span>

#include "kernels/kernel_table.hpp"
#include "parallel/parallel_for.hpp"

namespace mixtura {

// What is the same for every row of one call.
struct RouteRules {
    const KernelTable& kernels;
    const RouterPolicy& policy;
    std::int64_t expert_count = 0;          // E
    const float* selection_bias = nullptr;  // [E]
};

// Memory of one thread.
struct RowScratch {
    float* scores = nullptr;        // [E]
    float* keys = nullptr;          // [E]
    float* group_keys = nullptr;    // [groups], at most E
    std::int32_t* order = nullptr;  // [E]
};

enum class RowState : std::uint8_t { routed, padding, non_finite };

// ---- logits (logits.cpp)
// ----------------------------------------------------------------------------------------------
bool is_finite_row(const float* logits, std::int64_t expert_count) noexcept;
// x = max(-limit, min(x, limit)); returns how many it changed.
std::int64_t clamp_logits(float limit, float* logits, std::int64_t expert_count) noexcept;
void mask_experts(const std::vector<bool>& is_masked, float* logits, std::int64_t expert_count) noexcept;
// Finite check, clamp, temperature, finite check again, mask.
RowState prepare_logits(const RouteRules& rules, float* logits, std::int64_t& clamped) noexcept;
// For a row that cannot be routed: 0 for all that are not masked, so that ties to the lower id choose the first of
// them.
void level_logits(const RouteRules& rules, float* logits) noexcept;

// ---- scores and keys (scores.cpp)
// --------------------------------------------------------------------------------------- scores [E] for the scorings
// that weigh by them (softmax, sigmoid); nothing for the others.
void compute_scores(const RouteRules& rules, const float* logits, float* scores) noexcept;
// What the choice goes by, larger first: `logits` themselves or scratch.keys.
const float* selection_keys(const RouteRules& rules, const float* logits, const RowScratch& scratch) noexcept;

// ---- choice (choice.cpp)
// -------------------------------------------------------------------------------------------------- ids of the
// `count_max` largest keys in descending order, of equals the lower id; keys of -inf and NaN are never taken. `ids` has
// room for E where count_max > kInsertionChoices, for count_max otherwise.  Returns how many.
inline constexpr std::int64_t kInsertionChoices = 32;
std::int64_t choose_largest(const float* keys, std::int64_t key_count, std::int64_t count_max,
                            std::int32_t* ids) noexcept;
// How many of the chosen it takes until their probabilities add up to `share`; at least 1.
std::int64_t count_for_share(const float* probabilities, const std::int32_t* ids, std::int64_t count,
                             float share) noexcept;
// One row: experts into `ids` [K], their number returned.
std::int64_t choose_row(const RouteRules& rules, const float* logits, const RowScratch& scratch,
                        std::int32_t* ids) noexcept;

// ---- weights (weigh.cpp)
// -------------------------------------------------------------------------------------------------- weights [count] of
// the experts `ids` [count], in the order of choice.  scratch.scores as compute_scores left them.
void weigh(const RouteRules& rules, const float* logits, const std::int32_t* ids, std::int64_t count,
           const RowScratch& scratch, float* weights) noexcept;
// w / (max(Σw, floor) + bias); equal shares where that divisor is 0.
void renormalise(float floor, float bias, float* weights, std::int64_t count) noexcept;

// ---- capacity (capacity.cpp)
// ------------------------------------------------------------------------------------------------ Choices that one
// expert takes: ceil(tokens · top_k / E · factor), `tokens` without padding.
std::int64_t expert_capacity(const RouterPolicy& policy, std::int64_t expert_count, std::int64_t tokens) noexcept;
// A choice that found no room stays in its token's ids in this form until its weight has been computed;
// expert_of_choice undoes it.
constexpr std::int32_t dropped_choice(std::int32_t expert) noexcept { return -2 - expert; }
constexpr std::int32_t expert_of_choice(std::int32_t id) noexcept { return id < 0 ? -2 - id : id; }
// Walks the tokens in order, each token's choices in order, and moves or drops the choices of full experts.  logits
// [T, E] as prepare_logits left them; plan: ids, experts_of_token and scratch.states filled.
void apply_capacity(const RouteRules& rules, const float* logits, const RowScratch& scratch, RoutePlan& plan) noexcept;

// ---- plan (plan.cpp)
// ----------------------------------------------------------------------------------------------------------
// RoutePlan::group without its checks; experts_of_token is filled already.
void group_choices(RoutePlan& plan);

}  // namespace mixtura
