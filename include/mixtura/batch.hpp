// Batch: several sequences over one Model, each a token further with every step.  The simple lock-step form, for
// measuring and for jobs of equal length; for serving, where sequences come and go, it is what Engine will replace.
// Each sequence has the logits, bit for bit, that a Generation alone would give it.
#pragma once

#include <mixtura/generation.hpp>

#include <memory>
#include <span>

namespace mixtura {

class Batch {
  public:
    // `options.context_tokens` is of each sequence; `options.step_tokens` is not used, a step has one token a sequence.
    // INVALID_ARGUMENT, OUT_OF_RANGE, OUT_OF_HOST_MEMORY; UNSUPPORTED for a model with an encoder.  Keeps a reference
    // to the model.
    static Result<Batch> create(const Model& model, const GenerationOptions& options,
                                std::int64_t sequence_count) noexcept;

    // Appends tokens[s] to sequence s for every s.  logits [S, V] gets each sequence's row, or is empty: then none is
    // computed.  INVALID_ARGUMENT for another number of tokens or logits, or an id outside the vocabulary;
    // OUT_OF_RANGE beyond the context; BUDGET_EXCEEDED; INTERNAL naming sequence, layer and position where the numbers
    // stopped being finite.  On failure every sequence is as before.
    Status step(std::span<const TokenId> tokens, std::span<float> logits) noexcept;

    // Every sequence is empty again.
    Status reset() noexcept;

    std::int64_t sequence_count() const noexcept;
    std::int64_t length_tokens() const noexcept;  // of each sequence
    int thread_count() const noexcept;
    const Model& model() const noexcept;

    // Threads: per-object.
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    struct State;

  private:
    explicit Batch(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
