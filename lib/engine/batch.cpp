// Batch: one row a sequence in every forward pass.  All sequences have one length, which is what makes a step all or
// nothing easy to keep.
#include <mixtura/batch.hpp>

#include <numeric>

#include "base/error.hpp"
#include "engine/generation_state.hpp"

namespace mixtura {

struct Batch::State {
    Model model;
    GenerationOptions options;
    std::unique_ptr<ThreadPool> threads;
    KVCache cache;
    ForwardPass pass;
    std::vector<StepSequence> sequences = {};   // row s is sequence s
    std::vector<std::int64_t> logit_rows = {};  // 0 to S - 1
    std::int64_t length = 0;

    Status open_sequences(std::int64_t count);
    Status step(std::span<const TokenId> tokens, std::span<float> logits);
    Status run(std::span<const TokenId> tokens, std::span<float> logits);
    Status release_unseen();
};

Status Batch::State::open_sequences(std::int64_t count) {
    std::vector<StepSequence> fresh;
    for (std::int64_t s = 0; s < count; ++s) {
        MIXTURA_ASSIGN_OR_RETURN(const SequenceId sequence, cache.create_sequence());
        fresh.push_back({sequence, s, 1, 0, options.context_tokens});
    }
    for (const StepSequence& old : sequences) MIXTURA_RETURN_IF_ERROR(cache.free_sequence(old.sequence));
    sequences = std::move(fresh);
    length = 0;
    return {};
}

Status Batch::State::run(std::span<const TokenId> tokens, std::span<float> logits) {
    for (StepSequence& row : sequences) {
        MIXTURA_ASSIGN_OR_RETURN(row.first_position, cache.append(row.sequence, 1));
    }
    const std::span<const std::int64_t> wanted = logits.empty() ? std::span<const std::int64_t>() : logit_rows;
    std::vector<NonFinite> failed;
    MIXTURA_RETURN_IF_ERROR(pass.run({tokens, sequences, wanted, {}}, cache, *threads, logits, failed));
    if (failed.empty()) return {};
    const Status why = not_finite(failed[0], static_cast<std::int64_t>(model.state()->core->spec.layers.size()));
    return error(why.code(), "sequence ", failed[0].sequence, ": ", why.message());
}

// Blocks that no later query can see go back to the cache.
Status Batch::State::release_unseen() {
    for (const StepSequence& row : sequences) {
        for (std::size_t group = 0; group < cache.description().groups.size(); ++group) {
            MIXTURA_ASSIGN_OR_RETURN(const std::int64_t visible, cache.first_visible(row.sequence, group));
            MIXTURA_RETURN_IF_ERROR(cache.release_before(row.sequence, group, visible));
        }
    }
    return {};
}

Status Batch::State::step(std::span<const TokenId> tokens, std::span<float> logits) {
    const std::size_t logit_count =
        sequences.size() * static_cast<std::size_t>(model.state()->core->spec.vocabulary_size);
    if (tokens.size() != sequences.size() || (!logits.empty() && logits.size() != logit_count)) {
        return error(StatusCode::invalid_argument, "a step of ", tokens.size(), " tokens and ", logits.size(),
                     " logits, expected ", sequences.size(), " tokens and 0 or ", logit_count, " logits");
    }
    if (length >= options.context_tokens) {
        return error(StatusCode::out_of_range, length + 1, " tokens are more than the context of ",
                     options.context_tokens, " holds");
    }
    Status status = run(tokens, logits);
    if (!status.is_ok()) {
        for (const StepSequence& row : sequences) {
            MIXTURA_ASSIGN_OR_RETURN(const std::int64_t reached, cache.length(row.sequence));
            if (reached > length) MIXTURA_RETURN_IF_ERROR(cache.truncate(row.sequence, length));
        }
        return status;
    }
    ++length;
    return release_unseen();
}

Result<Batch> Batch::create(const Model& model, const GenerationOptions& options,
                            std::int64_t sequence_count) noexcept {
    return without_exceptions([&]() -> Result<Batch> {
        constexpr std::int64_t kSequencesMax = 65536;  // rows of a step, as of a Generation's
        if (sequence_count < 1 || sequence_count > kSequencesMax) {
            return error(StatusCode::invalid_argument, "a batch of ", sequence_count, " sequences, expected 1 to ",
                         kSequencesMax);
        }
        if (model.has_encoder()) {
            return error(StatusCode::unsupported, "a batch feeds a token at a time, but ", model.facts().architecture,
                         " reads its source at once, expected a model without an encoder");
        }
        const std::shared_ptr<const ModelCore>& core = model.state()->core;
        MIXTURA_ASSIGN_OR_RETURN(const GenerationOptions settled, settled_options(core->spec, options));
        MIXTURA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> threads, ThreadPool::create(options.thread_count));
        KVDescription description = cache_description(core->spec, settled.cache_dtype, settled.context_tokens);
        description.snapshots_max = 0;  // a step is taken back by itself
        MIXTURA_ASSIGN_OR_RETURN(KVCache cache, KVCache::create(std::move(description)));
        MIXTURA_ASSIGN_OR_RETURN(std::vector<RouterPolicy> policies, settled_policies(core->spec, options));
        MIXTURA_ASSIGN_OR_RETURN(ForwardPass pass, ForwardPass::create(core, sequence_count, nullptr, settled.op_times,
                                                                       std::move(policies)));
        auto state =
            std::make_unique<State>(State{model, settled, std::move(threads), std::move(cache), std::move(pass)});
        MIXTURA_RETURN_IF_ERROR(state->open_sequences(sequence_count));
        state->logit_rows.resize(static_cast<std::size_t>(sequence_count));
        std::iota(state->logit_rows.begin(), state->logit_rows.end(), std::int64_t{0});
        return Batch(std::move(state));
    });
}

Status Batch::step(std::span<const TokenId> tokens, std::span<float> logits) noexcept {
    return without_exceptions([&] { return state_->step(tokens, logits); });
}

Status Batch::reset() noexcept {
    return without_exceptions([&] { return state_->open_sequences(sequence_count()); });
}

std::int64_t Batch::sequence_count() const noexcept { return static_cast<std::int64_t>(state_->sequences.size()); }
std::int64_t Batch::length_tokens() const noexcept { return state_->length; }
int Batch::thread_count() const noexcept { return state_->threads->thread_count(); }
const Model& Batch::model() const noexcept { return state_->model; }

Batch::Batch(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

}  // namespace mixtura
