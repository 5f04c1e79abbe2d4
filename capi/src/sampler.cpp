#include "convert.hpp"

namespace mixtura::capi {
namespace {

std::optional<float> if_set(float value) {
    return value == MIXTURA_UNSET_FLOAT ? std::nullopt : std::optional<float>(value);
}
std::optional<std::int32_t> if_set(std::int32_t value) {
    return value == MIXTURA_UNSET_INT32 ? std::nullopt : std::optional<std::int32_t>(value);
}

// The caller's function as C++ knows it.
LogitsCallback edit_from(mixtura_logits_callback edit, void* user_data) {
    if (edit == nullptr) return {};
    return [edit, user_data](std::span<float> logits, const TokenHistory& history) {
        return flow_from(edit(logits.data(), logits.size(), history.tokens.data(), history.tokens.size(),
                              history.prompt_count, user_data));
    };
}

TokenHistory history_of(const std::int32_t* tokens, std::size_t token_count, std::size_t prompt_count) {
    if (prompt_count > token_count) {
        fail(StatusCode::invalid_argument, "prompt_count is " + std::to_string(prompt_count) +
                                               ", expected at most the " + std::to_string(token_count) +
                                               " tokens there are");
    }
    return {array(tokens, token_count, "tokens"), prompt_count};
}

}  // namespace

SamplingOptions sampling_from(const mixtura_sampling_options* options) {
    const mixtura_sampling_options defaults = MIXTURA_SAMPLING_OPTIONS_INIT;
    const mixtura_sampling_options wanted = options_of(options, defaults, "sampling options");
    SamplingOptions ours;
    for (const mixtura_logit_bias& bias : array(wanted.logit_bias, wanted.logit_bias_count, "logit_bias"))
        ours.logit_bias.push_back({bias.token, bias.bias});
    ours.repetition_penalty = if_set(wanted.repetition_penalty);
    ours.presence_penalty = if_set(wanted.presence_penalty);
    ours.frequency_penalty = if_set(wanted.frequency_penalty);
    ours.no_repeat_ngram = if_set(wanted.no_repeat_ngram);
    ours.edit_logits = edit_from(wanted.edit_logits, wanted.edit_logits_user_data);
    ours.temperature = if_set(wanted.temperature);
    ours.top_k = if_set(wanted.top_k);
    ours.top_p = if_set(wanted.top_p);
    ours.min_p = if_set(wanted.min_p);
    ours.typical_p = if_set(wanted.typical_p);
    ours.logprobs = if_set(wanted.logprobs);
    if (wanted.seed != MIXTURA_UNSET_SEED) ours.seed = wanted.seed;
    ours.completion = wanted.completion;
    return ours;
}

mixtura_sampling_options sampling_to(const SamplingOptions& options) {
    mixtura_sampling_options out = MIXTURA_SAMPLING_OPTIONS_INIT;
    out.repetition_penalty = options.repetition_penalty.value_or(MIXTURA_UNSET_FLOAT);
    out.presence_penalty = options.presence_penalty.value_or(MIXTURA_UNSET_FLOAT);
    out.frequency_penalty = options.frequency_penalty.value_or(MIXTURA_UNSET_FLOAT);
    out.no_repeat_ngram = options.no_repeat_ngram.value_or(MIXTURA_UNSET_INT32);
    out.temperature = options.temperature.value_or(MIXTURA_UNSET_FLOAT);
    out.top_k = options.top_k.value_or(MIXTURA_UNSET_INT32);
    out.top_p = options.top_p.value_or(MIXTURA_UNSET_FLOAT);
    out.min_p = options.min_p.value_or(MIXTURA_UNSET_FLOAT);
    out.typical_p = options.typical_p.value_or(MIXTURA_UNSET_FLOAT);
    out.logprobs = options.logprobs.value_or(MIXTURA_UNSET_INT32);
    out.seed = options.seed.value_or(MIXTURA_UNSET_SEED);
    out.completion = options.completion;
    return out;
}

mixtura_sampled sampled_to(const Sampled& sampled, std::vector<mixtura_token_logprob>& likeliest) {
    likeliest.clear();
    for (const TokenLogprob& one : sampled.likeliest) likeliest.push_back({one.token, one.logprob});
    mixtura_sampled out = MIXTURA_SAMPLED_INIT;
    out.token = sampled.token;
    out.probability = sampled.probability;
    out.logprob = sampled.logprob.value_or(MIXTURA_UNSET_FLOAT);
    out.likeliest_count = static_cast<std::int32_t>(likeliest.size());
    out.likeliest = likeliest.data();
    return out;
}

}  // namespace mixtura::capi

using namespace mixtura::capi;

extern "C" {

mixtura_status mixtura_sampler_create(int64_t vocabulary_size, const mixtura_sampling_options* options,
                                      mixtura_sampler** sampler) noexcept {
    return guard([&] {
        given(sampler, "sampler");
        give_handle(sampler, take(mixtura::Sampler::create(vocabulary_size, sampling_from(options))));
    });
}

void mixtura_sampler_destroy(mixtura_sampler* sampler) noexcept { delete sampler; }

mixtura_status mixtura_sampler_sample(mixtura_sampler* sampler, const float* logits, size_t logit_count,
                                      const int32_t* tokens, size_t token_count, size_t prompt_count,
                                      mixtura_sampled* sampled) noexcept {
    return guard([&] {
        checked_size(given(sampled, "sampled"), "sampled");
        mixtura_sampler& s = given(sampler, "sampler");
        const mixtura::Sampled drawn =
            take(s.sampler.sample(array(logits, logit_count, "logits"), history_of(tokens, token_count, prompt_count)));
        give(sampled, sampled_to(drawn, s.likeliest), "sampled");
    });
}

mixtura_status mixtura_sampler_probabilities(mixtura_sampler* sampler, const float* logits, size_t logit_count,
                                             const int32_t* tokens, size_t token_count, size_t prompt_count,
                                             float* probabilities) noexcept {
    return guard([&] {
        const auto found = take(given(sampler, "sampler")
                                    .sampler.probabilities(array(logits, logit_count, "logits"),
                                                           history_of(tokens, token_count, prompt_count)));
        give_array(std::span<const float>(found), &given(probabilities, "probabilities"), found.size(), nullptr,
                   "probabilities");
    });
}

}  // extern "C"
