// Sampler: the steps of SamplingOptions in their order, for one request.
#include <mixtura/sampler.hpp>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "kernels/backend.hpp"
#include "kernels/math.hpp"
#include "parallel/fp_environment.hpp"
#include "sampler/distribution.hpp"
#include "sampler/logit_edits.hpp"
#include "sampler/scan.hpp"
#include "sampler/token_counts.hpp"

namespace mixtura {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What one call needs and the next may overwrite.
struct Scratch {
    std::vector<float> edited;              // [V]
    std::vector<float> given_block_maxima;  // [ceil(V / kBlockLogits)]
    std::vector<float> edited_block_maxima;
    Distribution distribution;
};

Status refuse_nan(std::span<const float> logits, std::string_view whose) {
    return error(StatusCode::invalid_argument, "the logit of token ", first_nan(logits), " is NaN", whose);
}

double uniform(std::uint64_t seed, std::uint64_t position, std::uint64_t completion) noexcept {
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
    const PhiloxCounter words =
        philox4x32({low(position), high(position), low(completion), high(completion)}, {low(seed), high(seed)});
    return unit_double(words[0], words[1]);
}

}  // namespace

struct Sampler::State {
    std::int64_t vocabulary_size = 0;
    SamplingOptions options;
    Penalties penalties;
    Distribution::Filters filters;
    bool is_greedy = false;
    const KernelTable* kernels = nullptr;  // every back-end gives the same bits
    std::shared_ptr<Scratch> scratch;
    TokenCounts counts;

    struct Prepared {
        std::span<const float> logits;        // the caller's, or their edited copy
        std::span<const float> block_maxima;  // of these
        float maximum;                        // of these
        float given_maximum;                  // of the caller's
    };
    // The lowest id of the largest logit: it is in the first block with that maximum.
    static std::size_t likeliest(const Prepared& prepared) noexcept {
        const auto block = std::find(prepared.block_maxima.begin(), prepared.block_maxima.end(), prepared.maximum);
        const auto first = (block - prepared.block_maxima.begin()) * static_cast<std::ptrdiff_t>(kBlockLogits);
        const auto best = std::find(prepared.logits.begin() + first, prepared.logits.end(), prepared.maximum);
        return static_cast<std::size_t>(best - prepared.logits.begin());
    }
    Result<Prepared> prepare(std::span<const float> given, const TokenHistory& history);
    Status edit(std::span<float> logits, const TokenHistory& history);
    void add_logprobs(std::span<const float> given, float maximum, Sampled& sampled);
};

Result<Sampler> Sampler::create(std::int64_t vocabulary_size, SamplingOptions options,
                                const Sampler* sharing) noexcept {
    return without_exceptions([&]() -> Result<Sampler> {
        if (vocabulary_size < 1 || vocabulary_size > std::numeric_limits<TokenId>::max()) {
            return error(StatusCode::invalid_argument, "the vocabulary has ", vocabulary_size,
                         " tokens, expected 1 to ", std::numeric_limits<TokenId>::max());
        }
        MIXTURA_RETURN_IF_ERROR(options.check(vocabulary_size));
        MIXTURA_ASSIGN_OR_RETURN(const Backend* const backend, choose_backend());
        auto state = std::make_unique<State>();
        state->kernels = backend->table;
        state->vocabulary_size = vocabulary_size;
        state->penalties = {options.repetition_penalty.value_or(1.0F), options.presence_penalty.value_or(0.0F),
                            options.frequency_penalty.value_or(0.0F)};
        state->is_greedy = options.temperature == 0.0F;
        state->filters = {options.temperature.value_or(1.0F), static_cast<std::size_t>(options.top_k.value_or(0)),
                          options.top_p.value_or(1.0F), options.min_p.value_or(0.0F), options.typical_p.value_or(1.0F)};
        state->options = std::move(options);
        state->scratch = sharing != nullptr ? sharing->state_->scratch : std::make_shared<Scratch>();
        return Sampler(std::move(state));
    });
}

// The steps before temperature, on the copy.
Status Sampler::State::edit(std::span<float> logits, const TokenHistory& history) {
    add_bias(options.logit_bias, logits);
    if (penalties.change_anything()) {
        MIXTURA_RETURN_IF_ERROR(counts.update(history, vocabulary_size));
        penalise(penalties, counts, logits);
    }
    if (const std::int32_t n = options.no_repeat_ngram.value_or(0); n > 0) {
        MIXTURA_RETURN_IF_ERROR(check_history(history, 0, vocabulary_size));
        ban_repeated_ngrams(history.tokens, static_cast<std::size_t>(n), logits);
    }
    if (options.edit_logits && options.edit_logits(logits, history) == Flow::stop) {
        return error(StatusCode::callback_stopped, "edit_logits ended the request at position ", history.tokens.size());
    }
    return {};
}

Result<Sampler::State::Prepared> Sampler::State::prepare(std::span<const float> given, const TokenHistory& history) {
    if (given.size() != static_cast<std::size_t>(vocabulary_size)) {
        return error(StatusCode::invalid_argument, given.size(), " logits are given, expected ", vocabulary_size);
    }
    if (history.prompt_count > history.tokens.size()) return check_history(history, history.tokens.size(), 0);
    const LogitScan scan = scan_logits(given, scratch->given_block_maxima);
    if (scan.has_nan) return refuse_nan(given, "");

    Prepared prepared{given, scratch->given_block_maxima, scan.maximum, scan.maximum};
    const bool edits = !options.logit_bias.empty() || penalties.change_anything() ||
                       options.no_repeat_ngram.value_or(0) > 0 || options.edit_logits;
    if (edits) {
        std::vector<float>& edited = scratch->edited;
        edited.assign(given.begin(), given.end());
        MIXTURA_RETURN_IF_ERROR(edit(edited, history));
        const LogitScan after = scan_logits(edited, scratch->edited_block_maxima);
        if (after.has_nan) return refuse_nan(edited, " after bias, penalties and edit_logits");
        prepared.logits = edited;
        prepared.block_maxima = scratch->edited_block_maxima;
        prepared.maximum = after.maximum;
    }
    if (prepared.maximum == -kInfinity) {
        return error(StatusCode::invalid_argument, "all ", vocabulary_size, " logits are -inf",
                     edits ? " after bias, penalties and bans" : "", ", expected one token that may follow");
    }
    return prepared;
}

// log p = (logit - maximum) - log(sum), in the distribution of the logits as given.
void Sampler::State::add_logprobs(std::span<const float> given, float maximum, Sampled& sampled) {
    std::size_t certain = 0;  // logits of +inf, which share everything
    if (maximum == kInfinity) certain = static_cast<std::size_t>(std::count(given.begin(), given.end(), kInfinity));
    double log_sum = 0;
    if (certain > 0) log_sum = log_f64(static_cast<double>(certain));
    if (certain == 0 && maximum > -kInfinity) log_sum = scratch->distribution.log_of_sum(*kernels, given);
    const auto logprob = [&](std::uint32_t token) {
        const float logit = given[token];
        if (logit == -kInfinity) return -kInfinity;
        if (certain > 0) return logit == kInfinity ? static_cast<float>(-log_sum) : -kInfinity;
        return static_cast<float>(static_cast<double>(logit) - static_cast<double>(maximum) - log_sum);
    };
    sampled.logprob = logprob(static_cast<std::uint32_t>(sampled.token));
    const std::size_t count = std::min(static_cast<std::size_t>(*options.logprobs), given.size());
    for (const std::uint32_t token : scratch->distribution.largest(given, scratch->given_block_maxima, count)) {
        sampled.likeliest.push_back({static_cast<TokenId>(token), logprob(token)});
    }
}

Result<Sampled> Sampler::sample(std::span<const float> logits, const TokenHistory& history) noexcept {
    return without_exceptions([&]() -> Result<Sampled> {
        const FpEnvironment environment;  // the host's rounding and flush-to-zero must not reach the draw
        State& s = *state_;
        MIXTURA_ASSIGN_OR_RETURN(const State::Prepared prepared, s.prepare(logits, history));
        Sampled sampled;
        if (s.is_greedy) {
            sampled.token = static_cast<TokenId>(State::likeliest(prepared));
        } else {
            Distribution& distribution = s.scratch->distribution;
            distribution.build(*s.kernels, prepared.logits, prepared.maximum, prepared.block_maxima, s.filters);
            const Distribution::Draw draw =
                distribution.draw(uniform(s.options.seed.value_or(0), history.tokens.size(), s.options.completion));
            sampled.token = static_cast<TokenId>(draw.token);
            sampled.probability = draw.probability;
        }
        if (s.options.logprobs) s.add_logprobs(logits, prepared.given_maximum, sampled);
        return sampled;
    });
}

Result<std::vector<float>> Sampler::probabilities(std::span<const float> logits, const TokenHistory& history) noexcept {
    return without_exceptions([&]() -> Result<std::vector<float>> {
        const FpEnvironment environment;  // the host's rounding and flush-to-zero must not reach the draw
        State& s = *state_;
        MIXTURA_ASSIGN_OR_RETURN(const State::Prepared prepared, s.prepare(logits, history));
        std::vector<float> out(logits.size(), 0.0F);
        if (s.is_greedy) {
            out[State::likeliest(prepared)] = 1.0F;
        } else {
            s.scratch->distribution.build(*s.kernels, prepared.logits, prepared.maximum, prepared.block_maxima,
                                          s.filters);
            s.scratch->distribution.write(out);
        }
        return out;
    });
}

Sampler::Sampler(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

}  // namespace mixtura
