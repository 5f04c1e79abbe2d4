// ExpertPool: checks whatever a caller may have got wrong, then run_mixture() with threads and scratch of its own.
#include <mixtura/expert_pool.hpp>

#include <functional>

#include "base/error.hpp"
#include "experts/check_plan.hpp"
#include "experts/pack_experts.hpp"
#include "experts/pool_state.hpp"
#include "kernels/backend.hpp"
#include "parallel/thread_pool.hpp"

namespace mixtura {
namespace {

Status check_span(std::string_view name, std::size_t found, std::int64_t tokens, std::int64_t hidden_size) {
    const auto h = static_cast<std::size_t>(hidden_size);
    if (found % h == 0 && found / h == static_cast<std::size_t>(tokens)) return {};
    return error(StatusCode::invalid_argument, name, " has ", found, " floats, expected ", tokens, " tokens of ",
                 hidden_size);
}

bool overlap(std::span<const float> a, std::span<const float> b) noexcept {
    const std::less<> before;
    return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace

ExpertPool make_expert_pool(ExpertSpec spec, std::vector<ExpertView> experts, ExpertView shared,
                            PackedMatrix shared_gate, const KernelTable* kernels, std::shared_ptr<ParallelFor> threads,
                            std::shared_ptr<const void> keep_alive, std::uint64_t weight_bytes) {
    auto state = std::make_unique<ExpertPool::State>();
    state->spec = spec;
    state->experts = std::move(experts);
    state->shared = shared;
    state->shared_gate = shared_gate;
    state->kernels = kernels;
    state->threads = std::move(threads);
    state->keep_alive = std::move(keep_alive);
    state->weight_bytes = weight_bytes;
    return ExpertPool(std::move(state));
}

Result<ExpertPool> ExpertPool::create(const ExpertWeights& weights, const ExpertSpec& spec,
                                      const ExpertPoolOptions& options) noexcept {
    return without_exceptions([&]() -> Result<ExpertPool> {
        MIXTURA_ASSIGN_OR_RETURN(const Backend* backend, choose_backend());
        MIXTURA_ASSIGN_OR_RETURN(std::shared_ptr<ThreadPool> threads, ThreadPool::create(options.thread_count));
        MIXTURA_ASSIGN_OR_RETURN(PackedExperts packed, pack_experts(weights, spec, {.topology = threads->topology()}));
        const auto memory = std::make_shared<PlacedMemory>(std::move(packed.memory));
        return make_expert_pool(spec, std::move(packed.experts), packed.shared, packed.shared_gate, backend->table,
                                std::move(threads), memory, memory->held_bytes());
    });
}

const ExpertSpec& ExpertPool::spec() const noexcept { return state_->spec; }
std::uint64_t ExpertPool::weight_bytes() const noexcept { return state_->weight_bytes; }

ExpertPoolCounters ExpertPool::counters() const noexcept {
    return {.tokens = state_->tokens.load(std::memory_order_relaxed),
            .expert_runs = state_->expert_runs.load(std::memory_order_relaxed),
            .choices = state_->choices.load(std::memory_order_relaxed)};
}

Status ExpertPool::run(std::span<const float> hidden, const RoutePlan& plan, std::span<float> output) const noexcept {
    return without_exceptions([&]() -> Status {
        State& state = *state_;
        const std::lock_guard turn(state.turn);
        MIXTURA_RETURN_IF_ERROR(check_plan(plan, state.spec.expert_count, state.is_slot_seen));
        MIXTURA_RETURN_IF_ERROR(check_span("hidden", hidden.size(), plan.tokens, state.spec.hidden_size));
        MIXTURA_RETURN_IF_ERROR(check_span("output", output.size(), plan.tokens, state.spec.hidden_size));
        if (overlap(hidden, output)) return error(StatusCode::invalid_argument, "output overlaps hidden");
        MIXTURA_RETURN_IF_ERROR(state.scratch.reserve(state.spec, plan.tokens, plan.choices));
        const MixtureView view{state.experts, state.shared, state.shared_gate};
        run_mixture(*state.kernels, *state.threads, state.spec, view, hidden.data(), plan, state.scratch,
                    output.data());
        std::uint64_t runs = state.shared.up.data != nullptr && plan.tokens > 0 ? 1 : 0;
        for (std::size_t e = 0; e < state.experts.size(); ++e) runs += plan.offsets[e + 1] > plan.offsets[e] ? 1 : 0;
        state.tokens.fetch_add(static_cast<std::uint64_t>(plan.tokens), std::memory_order_relaxed);
        state.expert_runs.fetch_add(runs, std::memory_order_relaxed);
        state.choices.fetch_add(plan.token_of_slot.size(), std::memory_order_relaxed);
        return {};
    });
}

ExpertPool::ExpertPool(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ExpertPool::ExpertPool(ExpertPool&&) noexcept = default;
ExpertPool& ExpertPool::operator=(ExpertPool&&) noexcept = default;
ExpertPool::~ExpertPool() = default;

}  // namespace mixtura
