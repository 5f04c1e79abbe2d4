// What sampling options may hold, and how they take a model's defaults.
#include <mixtura/sampler.hpp>

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr float kFloatMax = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Status outside(std::string_view field, T value, std::string_view expected) {
    return error(StatusCode::invalid_argument, field, " is ", value, ", expected ", expected);
}

// Every comparison is written so that NaN fails it.
Status check_real(std::string_view field, const std::optional<float>& value, float least, float most,
                  std::string_view expected) {
    if (!value || (*value >= least && *value <= most)) return {};
    return outside(field, *value, expected);
}

Status check_count(std::string_view field, const std::optional<std::int32_t>& value) {
    if (!value || *value >= 0) return {};
    return outside(field, *value, "at least 0");
}

Status check_bias(std::span<const LogitBias> biases, std::int64_t vocabulary_size) {
    std::vector<TokenId> tokens;
    for (const LogitBias& entry : biases) {
        if (entry.token < 0 || entry.token >= vocabulary_size) {
            return error(StatusCode::invalid_argument, "logit_bias names token ", entry.token, ", expected 0 to ",
                         vocabulary_size - 1);
        }
        const bool may_be = (entry.bias >= -kFloatMax && entry.bias <= kFloatMax) || entry.bias == -kInfinity;
        if (!may_be) {
            return error(StatusCode::invalid_argument, "logit_bias of token ", entry.token, " is ", entry.bias,
                         ", expected a finite number or -inf");
        }
        tokens.push_back(entry.token);
    }
    std::sort(tokens.begin(), tokens.end());
    const auto twice = std::adjacent_find(tokens.begin(), tokens.end());
    if (twice == tokens.end()) return {};
    return error(StatusCode::invalid_argument, "logit_bias names token ", *twice, " twice, expected one bias a token");
}

template <class T>
void fill(std::optional<T>& field, const std::optional<T>& from) noexcept {
    if (!field) field = from;
}

}  // namespace

void SamplingOptions::fill_unset(const SamplingOptions& defaults) noexcept {
    fill(repetition_penalty, defaults.repetition_penalty);
    fill(presence_penalty, defaults.presence_penalty);
    fill(frequency_penalty, defaults.frequency_penalty);
    fill(no_repeat_ngram, defaults.no_repeat_ngram);
    fill(temperature, defaults.temperature);
    fill(top_k, defaults.top_k);
    fill(top_p, defaults.top_p);
    fill(min_p, defaults.min_p);
    fill(typical_p, defaults.typical_p);
    fill(seed, defaults.seed);
    fill(logprobs, defaults.logprobs);
}

Status SamplingOptions::check(std::int64_t vocabulary_size) const noexcept {
    constexpr float kAboveZero = std::numeric_limits<float>::denorm_min();
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check_bias(logit_bias, vocabulary_size));
        MIXTURA_RETURN_IF_ERROR(
            check_real("repetition_penalty", repetition_penalty, kAboveZero, kFloatMax, "a finite number above 0"));
        MIXTURA_RETURN_IF_ERROR(
            check_real("presence_penalty", presence_penalty, -kFloatMax, kFloatMax, "a finite number"));
        MIXTURA_RETURN_IF_ERROR(
            check_real("frequency_penalty", frequency_penalty, -kFloatMax, kFloatMax, "a finite number"));
        MIXTURA_RETURN_IF_ERROR(check_count("no_repeat_ngram", no_repeat_ngram));
        MIXTURA_RETURN_IF_ERROR(check_real("temperature", temperature, 0, kFloatMax, "a finite number of at least 0"));
        MIXTURA_RETURN_IF_ERROR(check_count("top_k", top_k));
        MIXTURA_RETURN_IF_ERROR(check_real("top_p", top_p, kAboveZero, 1, "above 0 and at most 1"));
        MIXTURA_RETURN_IF_ERROR(check_real("min_p", min_p, 0, 1, "0 to 1"));
        MIXTURA_RETURN_IF_ERROR(check_real("typical_p", typical_p, kAboveZero, 1, "above 0 and at most 1"));
        MIXTURA_RETURN_IF_ERROR(check_count("logprobs", logprobs));
        return {};
    });
}

}  // namespace mixtura
