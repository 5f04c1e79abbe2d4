// Sampler: one position's logits in, a token out.  Usable alone, with any source of logits.
// Everything a Sampler answers is a pure function of its options, the logits and the history: a draw is the inverse of
// the cumulative distribution in id order at u = Philox(seed; position, completion), so the same request gives the same
// text whatever else runs, on any processor, and a text that is continued from its middle continues the same way.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

// The tokens of one request so far.
struct TokenHistory {
    std::span<const TokenId> tokens;  // the prompt's, then the output's; ids in [0, V)
    std::size_t prompt_count = 0;     // how many of them are the prompt's
};

struct LogitBias {
    TokenId token = 0;
    float bias = 0.0F;  // added to the token's logit; -inf rules the token out
};

// Sees and may change the logits [V] of one position; the history is what the Sampler was given.  Runs on the thread
// that calls the Sampler, once a call; the span ends with the call; what it throws makes the call fail (INTERNAL).  NaN
// it leaves behind is an error of the call, -inf rules a token out, +inf (on one token or several) rules out all
// others.
using LogitsCallback = std::function<Flow(std::span<float> logits, const TokenHistory& history)>;

// How the next token is chosen.  A field that is unset takes the model's default (fill_unset) and, where that is unset
// too, the value named here, which changes nothing; so zero can say "off" against a model's default.  The steps run in
// the order of the fields, which is that of Hugging Face transformers.  Ties at a cut are all kept.  Every field has an
// initialiser so that a host's -Wextra is quiet about those that a designated initialiser leaves out.
struct SamplingOptions {
    std::vector<LogitBias> logit_bias = {};            // at most one a token
    std::optional<float> repetition_penalty = {};      // 1; > 0; tokens of prompt or output: logit / r, below 0: · r
    std::optional<float> presence_penalty = {};        // 0; taken off the logit of every token in the output
    std::optional<float> frequency_penalty = {};       // 0; the same, times how often the token is in the output
    std::optional<std::int32_t> no_repeat_ngram = {};  // 0 = off; no run of n tokens, prompt included, comes twice
    LogitsCallback edit_logits = {};
    std::optional<float> temperature = {};   // 1; 0: the likeliest token (lowest id on a tie), no filters
    std::optional<std::int32_t> top_k = {};  // 0 = off; the k likeliest tokens
    std::optional<float> top_p = {};         // 1 = off; (0, 1]: the likeliest that together reach p
    std::optional<float> min_p = {};         // 0 = off; [0, 1]: those of p times the likeliest, or more
    std::optional<float> typical_p = {};     // 1 = off; (0, 1]: those nearest to the mean surprise, up to p

    std::optional<std::uint64_t> seed = {};  // 0
    std::uint64_t completion = 0;            // which of several answers to one prompt: each draws its own

    // Unset: none.  n >= 0: the logprob of the chosen token and of the n likeliest, in the model's own distribution: of
    // the logits as given, before any step above.
    std::optional<std::int32_t> logprobs = {};

    // Takes each unset number from `defaults`, e.g. the model's generation_config.json.
    void fill_unset(const SamplingOptions& defaults) noexcept;
    // INVALID_ARGUMENT with a sentence naming the field, what it may be and what it is.
    Status check(std::int64_t vocabulary_size) const noexcept;
};

struct TokenLogprob {
    TokenId token = 0;
    float logprob = 0.0F;
};

struct Sampled {
    TokenId token = 0;
    float probability = 1.0F;             // in the distribution it was drawn from, after every step; 1 at temperature 0
    std::optional<float> logprob;         // where SamplingOptions::logprobs asks for it
    std::vector<TokenLogprob> likeliest;  // descending, ties by id; at most SamplingOptions::logprobs
};

class Sampler {
  public:
    // Refuses options as SamplingOptions::check does.  Working memory (about 16 bytes a vocabulary entry, taken at
    // first use) is shared with `sharing` where that is given: then only one of the sharers may run at a time.
    static Result<Sampler> create(std::int64_t vocabulary_size, SamplingOptions options,
                                  const Sampler* sharing = nullptr) noexcept;

    // Chooses the token that follows `history`.  `logits` [V] f32 are borrowed and not changed.
    // INVALID_ARGUMENT: not V logits, a NaN among them (the first is named), every token ruled out (-inf), a token of
    // the history outside [0, V); CALLBACK_STOPPED: edit_logits said so.  A failed call changes nothing.
    // Threads: per-object.   Blocks: no.   Allocates: at first use, and for new tokens in the history.
    Result<Sampled> sample(std::span<const float> logits, const TokenHistory& history) noexcept;

    // The distribution [V] that sample() would draw from; 0 for tokens the options rule out.  Errors and threads as
    // there.
    Result<std::vector<float>> probabilities(std::span<const float> logits, const TokenHistory& history) noexcept;

    Sampler(Sampler&&) noexcept;
    Sampler& operator=(Sampler&&) noexcept;
    ~Sampler();

    struct State;

  private:
    explicit Sampler(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

// Why a request ended.  The numbers are permanent; new ones may come.
enum class FinishReason : std::int32_t {
    none = 0,  // it goes on
    stop_token = 1,
    stop_string = 2,
    max_tokens = 3,
    context_full = 4,
    cancelled = 5,
    callback = 6,
};
std::string_view finish_reason_name(FinishReason reason) noexcept;  // "stop_token"; static storage

struct StopOptions {
    std::optional<std::vector<TokenId>> tokens = {};  // unset: the model's end tokens; empty: none
    std::vector<std::string> strings = {};            // not empty each; compared byte by byte
    std::optional<std::int64_t> max_tokens = {};      // unset: no limit; stop tokens are not counted

    // INVALID_ARGUMENT: an empty stop string, one above 64 KiB, more than 1,024 of them, max_tokens below 0.
    Status check() const noexcept;
};

// Watches one request's output for its end.  Text passes through it: what may yet become a stop string (the longest
// suffix that is a proper prefix of one) is held back, and released once it cannot.  The match that ends first counts,
// among those that end together the longest; neither it nor anything behind it is ever shown.  How the text is cut into
// pieces makes no difference.
class StopMatcher {
  public:
    // Unset StopOptions::tokens are none here: the model's are filled in by whoever knows the model.
    static Result<StopMatcher> create(StopOptions options) noexcept;

    struct Step {
        std::string_view text;  // may be shown now; valid until the matcher's next call
        FinishReason reason = FinishReason::none;
    };

    bool is_stop_token(TokenId token) const noexcept;

    // One token and the text it completes (whole characters from the tokenizer's stream decoder, or none).  A stop
    // token's text is left out.  Once a reason is given every later call gives it again, without text, except finish();
    // BAD_STATE after finish() without a reason.
    Result<Step> accept(TokenId token, std::string_view piece) noexcept;
    // The request ends here: takes the decoder's last bytes, if any, and gives what was held back, unless a stop string
    // ended the request or is completed now.
    Result<Step> finish(std::string_view last_piece = {}) noexcept;

    // Why the request ended; max_tokens from the start where StopOptions allows no token at all.
    FinishReason reason() const noexcept;
    std::int64_t accepted_count() const noexcept;  // tokens taken, stop tokens left out

    // Threads: per-object.
    StopMatcher(StopMatcher&&) noexcept;
    StopMatcher& operator=(StopMatcher&&) noexcept;
    ~StopMatcher();

    struct State;

  private:
    explicit StopMatcher(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
