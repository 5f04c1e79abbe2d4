// Generation: one sequence of tokens over a Model, with its own threads and its own keys and values.  Feed tokens and
// read logits, or let it generate.  The same tokens give the same logits, bit for bit, however they were fed.
//
// A model with an encoder (Model::has_encoder) reads a source and writes about it: it completes nothing.  There
// generate()'s prompt is the source; and what the first feed() brings, all at once, is the source too, behind which the
// decoder's sequence begins with its start token.  tokens(), logits() and positions are the decoder's; a later feed()
// goes on with its sequence, as if it had written these tokens.  truncate(0) forgets the source as well, so that the
// next feed() brings another; truncate(1) keeps it and the start token.
#pragma once

#include <mixtura/model.hpp>
#include <mixtura/op_times.hpp>
#include <mixtura/router.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct GenerationOptions {
    int thread_count = 0;  // 0: as many as this process may keep busy
    // Longest sequence, and longest source; 0: the model's own context.  Rotary scalings that hang on the length
    // (LongRoPE, dynamic NTK) are settled by this number and not by how long a sequence is, so a model trained on 4096
    // tokens and stretched to more by LongRoPE rotates as trained only where this is at most 4096.
    std::int64_t context_tokens = 0;
    CacheDTypes cache_dtype = DType::f16;  // of keys and values; cache_choices() are all there are
    // Most tokens computed at once; takes memory, changes no bit.  A source is computed at once whatever this says.
    std::int64_t step_tokens = 2048;
    OpTimes* op_times = nullptr;  // gets the time of every step added; borrowed for the object's life
    // Called in create() for each mixture layer, ascending, with a copy of the policy that the checkpoint asks for
    // (router.policy): what it leaves there is in force (another top_k, temperature, mask ...).  create() fails with
    // what it answers, unless that is OK; with INVALID_ARGUMENT where Router::check refuses the policy, and with
    // UNSUPPORTED for a capacity, whose choices would hang on how the tokens are cut into steps.
    std::function<Status(std::int64_t layer, const RouterSpec& router, RouterPolicy& policy)> change_router = {};
};

// Flow::stop from any of them: nothing more is told, and the call ends with CALLBACK_STOPPED once the step that runs is
// done, with the sequence as it was before.
struct FeedOptions {
    // Logits [V] of every token fed, in order, with its position; without it only the last token's are computed.
    std::function<Flow(std::int64_t position, std::span<const float> logits)> on_logits = {};
    // hidden [T, H] of the step's tokens, the first at `position`, before layer `layer`; layer = layer count: after the
    // final norm.  Called in layer order for each step.  Of a source: its tokens, before each of the encoder's layers.
    std::function<Flow(std::int64_t position, std::int64_t layer, std::span<const float> hidden)> on_hidden = {};
    // Where the step's tokens, the first at `position`, went in mixture layer `layer`; the plan is valid during the
    // call.  Called in layer order for each step; dense layers have none.
    std::function<Flow(std::int64_t position, std::int64_t layer, const RoutePlan& plan)> on_route = {};
};

// How often each layer chose each expert.
struct ExpertLoad {
    std::int64_t token_count = 0;                        // tokens counted
    std::vector<std::vector<std::int64_t>> layers = {};  // [L] of [E] choices; of [0] for a dense layer, or no token
};

// One token of an answer.
struct Piece {
    std::string_view text;  // what became whole UTF-8, and may be shown; valid during the call
    Sampled sampled;
};

struct GenerationRequest {
    std::vector<TokenId> prompt = {};
    SamplingOptions sampling = {};  // unset fields: the model's defaults
    StopOptions stop = {};
    std::function<Flow(const Piece& piece)> on_piece = {};  // Flow::stop ends the answer (FinishReason::callback)
    // As FeedOptions::on_route, for every token that is computed for this answer: not those reused from the sequence.
    // Flow::stop while the prompt is computed: CALLBACK_STOPPED; later it ends the answer (FinishReason::callback).
    std::function<Flow(std::int64_t position, std::int64_t layer, const RoutePlan& plan)> on_route = {};
};

struct GenerationResult {
    std::vector<TokenId> tokens;  // of the answer; the stop token is not among them
    std::string text;             // what on_piece was given, together
    FinishReason reason = FinishReason::none;
    std::int64_t prompt_tokens = 0;  // of a source, where the model has an encoder
    std::int64_t reused_tokens = 0;  // of the prompt, already in the cache
    double prefill_seconds = 0;      // until the first token
    double decode_seconds = 0;       // for the others
};

class Generation {
  public:
    // INVALID_ARGUMENT, OUT_OF_HOST_MEMORY.  Keeps a reference to the model.
    static Result<Generation> create(const Model& model, const GenerationOptions& options = {}) noexcept;

    // Appends tokens to the sequence.  INVALID_ARGUMENT for an id outside the vocabulary; OUT_OF_RANGE beyond the
    // context; CANCELLED; CALLBACK_STOPPED; INTERNAL naming layer and position where the numbers stopped being finite.
    // On failure the sequence is as before.
    Status feed(std::span<const TokenId> tokens, const FeedOptions& options = {}) noexcept;
    // Logits [V] of the last token fed; empty before the first.  Valid until the next call.
    std::span<const float> logits() const noexcept;
    // Tokens in the sequence.
    std::span<const TokenId> tokens() const noexcept;
    // Forgets the tokens from `length` on.  OUT_OF_RANGE above the length.  A model with recurrent layers keeps their
    // states where the last feeds of several tokens began and in front of the last token of the last prompts, four of
    // these in all; elsewhere the tokens since the one before are computed again, with the errors of feed().  On
    // failure the sequence is as before.
    Status truncate(std::int64_t length) noexcept;

    // Answers request.prompt, whatever is in the sequence; the longest common beginning is not computed again.
    // Afterwards the sequence holds the prompt and the answer.  Errors: as feed() and Sampler::sample; UNSUPPORTED for
    // stop strings without a tokenizer.
    Result<GenerationResult> generate(const GenerationRequest& request) noexcept;

    // Of the last generate(): where its answer's tokens went.  The answer's last token counts only once it has been fed
    // for another.  Valid until the next call.
    const ExpertLoad& expert_load() const noexcept;

    // Ends the feed() or generate() that runs, at the next token or step: an answer ends with FinishReason::cancelled.
    // Threads: any-thread, and from a signal handler.
    void cancel() noexcept;

    std::uint64_t cache_bytes() const noexcept;    // held by keys, values and states
    std::uint64_t scratch_bytes() const noexcept;  // held by the forward pass
    int thread_count() const noexcept;
    const Model& model() const noexcept;

    // Threads, where nothing else is said: per-object.
    Generation(Generation&&) noexcept;
    Generation& operator=(Generation&&) noexcept;
    ~Generation();

    struct State;

  private:
    explicit Generation(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
