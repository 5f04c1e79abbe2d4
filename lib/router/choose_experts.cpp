// choose_experts: the steps of steps.hpp over T rows.  Rows are independent but for capacity, so threads share them;
// capacity walks the tokens alone, between the choice and the weighing.
#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/backend.hpp"
#include "kernels/reduce.hpp"
#include "router/limits.hpp"
#include "router/route.hpp"
#include "router/steps.hpp"

namespace mixtura {
namespace {

// A row of 128 experts takes about 1 µs; a task of 16 makes claiming it cheap, and below some 64 such rows waking
// other threads costs what they save.
constexpr std::int64_t kTokensPerTask = 16;
constexpr std::int64_t kWorthSharing = 64 * 128;
constexpr std::int64_t kRowsPerThread = 3;  // scores, keys, group keys

struct Call {
    const RouteRules& rules;
    float* logits;  // [T, E]
    std::span<const std::uint8_t> padding_mask;
    RoutePlan& plan;
    std::int64_t row_stride;  // floats from one scratch row to the next: whole cache lines

    RowScratch scratch_of(int worker) const noexcept {
        float* const rows = plan.scratch.rows.data() + worker * kRowsPerThread * row_stride;
        return {rows, rows + row_stride, rows + 2 * row_stride, plan.scratch.order.data() + worker * row_stride};
    }
};

Status check_call(const RouterPolicy& policy, std::int64_t expert_count, std::int64_t tokens, std::size_t mask_size) {
    MIXTURA_RETURN_IF_ERROR(Router::check(policy, expert_count));
    const std::optional<std::int64_t> slots = checked_multiply(tokens, policy.top_k);
    if (tokens < 0 || !slots || *slots > kRouteSlotsMax) {
        return error(StatusCode::invalid_argument, tokens, " tokens with ", policy.top_k,
                     " choices each are given to a router, expected 0 to ", kRouteSlotsMax, " choices in all");
    }
    if (mask_size != 0 && mask_size != static_cast<std::size_t>(tokens)) {
        return error(StatusCode::invalid_argument, "the padding mask has ", mask_size, " entries, expected none or ",
                     tokens, ", one a token");
    }
    return {};
}

void resize(RoutePlan& plan, std::int64_t tokens, std::int64_t choices, std::int64_t expert_count,
            std::int64_t row_stride, std::int64_t workers) {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    plan.expert_ids.resize(size(tokens * choices));
    plan.weights.resize(size(tokens * choices));
    plan.experts_of_token.resize(size(tokens));
    plan.non_finite_tokens.clear();
    plan.scratch.rows.resize(std::max(plan.scratch.rows.size(), size(workers * kRowsPerThread * row_stride)));
    plan.scratch.order.resize(std::max(plan.scratch.order.size(), size(workers * row_stride)));
    plan.scratch.states.resize(size(tokens));
    plan.scratch.counts.assign(size(std::max(workers, expert_count)), 0);
    plan.counters.dropped = plan.counters.rerouted = plan.counters.clamped = 0;
    plan.counters.non_finite = plan.counters.padding = 0;
    plan.tokens = tokens;
    plan.choices = choices;
    plan.experts = expert_count;
}

// Chooses for token t; afterwards scratch.scores are the row's.
void choose_token(const Call& call, std::int64_t t, const RowScratch& scratch, std::int64_t& clamped) noexcept {
    RoutePlan& plan = call.plan;
    const auto at = static_cast<std::size_t>(t);
    std::int32_t* const ids = plan.expert_ids.data() + t * plan.choices;
    float* const logits = call.logits + t * plan.experts;
    RowState state = RowState::padding;
    std::int64_t count = 0;
    if (call.padding_mask.empty() || call.padding_mask[at] != 0) {
        state = prepare_logits(call.rules, logits, clamped);
        if (state == RowState::routed) {
            compute_scores(call.rules, logits, scratch.scores);
            count = choose_row(call.rules, logits, scratch, ids);
        }
        if (count == 0) {  // not finite, or biases of -inf left none
            state = RowState::non_finite;
            level_logits(call.rules, logits);
            count = choose_largest(logits, plan.experts, plan.choices, scratch.order);
            std::copy_n(scratch.order, count, ids);
        }
    }
    plan.scratch.states[at] = static_cast<std::uint8_t>(state);
    plan.experts_of_token[at] = static_cast<std::int32_t>(count);
}

// What dropped choices weighed goes to the kept ones, in proportion; they stand first.
void share_dropped(float* weights, std::int64_t kept, std::int64_t count) noexcept {
    const float all = sum_f32(weights, count), left = sum_f32(weights, kept);
    const float equal = all / static_cast<float>(kept);
    for (std::int64_t j = 0; j < kept; ++j) weights[j] = left != 0.0F ? weights[j] / left * all : equal;
}

// Weighs the choices of token t and takes the dropped ones out.  Pre: scratch.scores are the row's.
void weigh_token(const Call& call, std::int64_t t, const RowScratch& scratch) noexcept {
    RoutePlan& plan = call.plan;
    const auto at = static_cast<std::size_t>(t);
    std::int32_t* const ids = plan.expert_ids.data() + t * plan.choices;
    float* const weights = plan.weights.data() + t * plan.choices;
    const std::int64_t count = plan.experts_of_token[at];
    std::int64_t kept = 0;
    for (std::int64_t j = 0; j < count; ++j) {
        scratch.order[j] = expert_of_choice(ids[j]);
        kept += ids[j] >= 0 ? 1 : 0;
    }
    if (plan.scratch.states[at] == static_cast<std::uint8_t>(RowState::non_finite)) {
        std::fill_n(weights, count, 1.0F / static_cast<float>(count));
    } else if (count > 0) {
        weigh(call.rules, call.logits + t * plan.experts, scratch.order, count, scratch, weights);
    }
    if (kept < count && kept > 0 && call.rules.policy.renormalise_after_drop) share_dropped(weights, kept, count);
    std::fill(ids + kept, ids + plan.choices, -1);
    std::fill(weights + kept, weights + plan.choices, 0.0F);
    plan.experts_of_token[at] = static_cast<std::int32_t>(kept);
}

// body(token, scratch, clamped) for every token, threads sharing them where that pays.
template <class Body>
void for_tokens(ParallelFor& threads, const Call& call, const Body& body) noexcept {
    RoutePlan& plan = call.plan;
    const std::int64_t tasks = (plan.tokens + kTokensPerTask - 1) / kTokensPerTask;
    SerialFor alone;
    const bool is_shared = plan.tokens >= kWorthSharing / std::min(plan.experts, kWorthSharing);
    parallel_for(is_shared ? threads : alone, tasks, [&](std::int64_t task, int worker) noexcept {
        const RowScratch scratch = call.scratch_of(worker);
        std::int64_t clamped = 0;
        const std::int64_t last = std::min(plan.tokens, (task + 1) * kTokensPerTask);
        for (std::int64_t t = task * kTokensPerTask; t < last; ++t) body(t, scratch, clamped);
        plan.scratch.counts[static_cast<std::size_t>(worker)] += clamped;
    });
}

void count_states(RoutePlan& plan) {
    for (std::int64_t t = 0; t < plan.tokens; ++t) {
        const auto state = static_cast<RowState>(plan.scratch.states[static_cast<std::size_t>(t)]);
        plan.counters.padding += state == RowState::padding ? 1 : 0;
        if (state == RowState::non_finite) plan.non_finite_tokens.push_back(t);
    }
    plan.counters.non_finite = static_cast<std::int64_t>(plan.non_finite_tokens.size());
}

}  // namespace

Status choose_experts(const KernelTable& kernels, ParallelFor& threads, const RouterPolicy& policy,
                      std::int64_t expert_count, const float* selection_bias, float* logits, std::int64_t tokens,
                      std::span<const std::uint8_t> padding_mask, RoutePlan& plan) {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check_call(policy, expert_count, tokens, padding_mask.size()));
        const RouteRules rules{kernels, policy, expert_count, selection_bias};
        const std::int64_t row_stride = (expert_count + kAccumulators - 1) / kAccumulators * kAccumulators;
        const Call call{rules, logits, padding_mask, plan, row_stride};
        resize(plan, tokens, policy.top_k, expert_count, row_stride, threads.thread_count());

        const bool has_capacity = policy.capacity_factor.has_value();
        for_tokens(threads, call, [&](std::int64_t t, const RowScratch& scratch, std::int64_t& clamped) {
            choose_token(call, t, scratch, clamped);
            if (!has_capacity) weigh_token(call, t, scratch);
        });
        for (const std::int64_t clamped : plan.scratch.counts) plan.counters.clamped += clamped;
        if (has_capacity) {
            apply_capacity(rules, logits, call.scratch_of(0), plan);
            for_tokens(threads, call, [&](std::int64_t t, const RowScratch& scratch, std::int64_t&) {
                compute_scores(rules, logits + t * expert_count, scratch.scores);
                weigh_token(call, t, scratch);
            });
        }
        count_states(plan);
        group_choices(plan);
        return {};
    });
}

Status choose_experts(ParallelFor& threads, const RouterPolicy& policy, std::int64_t expert_count,
                      const float* selection_bias, float* logits, std::int64_t tokens,
                      std::span<const std::uint8_t> padding_mask, RoutePlan& plan) {
    const KernelTable* widest = nullptr;
    for (const Backend& backend : backends()) {
        if (backend.is_supported && backend.is_deterministic && backend.is_chosen_unasked) widest = backend.table;
    }
    return choose_experts(*widest, threads, policy, expert_count, selection_bias, logits, tokens, padding_mask, plan);
}

}  // namespace mixtura
