#include <mixtura/sampler.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace mixtura;

namespace {

std::string refusal(const SamplingOptions& options, std::int64_t vocabulary_size = 100) {
    const auto sampler = Sampler::create(vocabulary_size, options);
    if (sampler.is_ok()) return "accepted";
    CHECK(sampler.status().code() == StatusCode::invalid_argument);
    return std::string(sampler.status().message());
}

}  // namespace

TEST_CASE("sampling options out of range are refused by field, range and value", "[sampler][short]") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(refusal({.temperature = -0.5F}) == "temperature is -0.5, expected a finite number of at least 0");
    CHECK(refusal({.temperature = nan}) == "temperature is nan, expected a finite number of at least 0");
    CHECK(refusal({.temperature = inf}) == "temperature is inf, expected a finite number of at least 0");
    CHECK(refusal({.top_k = -1}) == "top_k is -1, expected at least 0");
    CHECK(refusal({.top_p = 0.0F}) == "top_p is 0, expected above 0 and at most 1");
    CHECK(refusal({.top_p = 1.5F}) == "top_p is 1.5, expected above 0 and at most 1");
    CHECK(refusal({.top_p = nan}) == "top_p is nan, expected above 0 and at most 1");
    CHECK(refusal({.min_p = -0.25F}) == "min_p is -0.25, expected 0 to 1");
    CHECK(refusal({.min_p = 2.0F}) == "min_p is 2, expected 0 to 1");
    CHECK(refusal({.typical_p = 0.0F}) == "typical_p is 0, expected above 0 and at most 1");
    CHECK(refusal({.repetition_penalty = 0.0F}) == "repetition_penalty is 0, expected a finite number above 0");
    CHECK(refusal({.repetition_penalty = nan}) == "repetition_penalty is nan, expected a finite number above 0");
    CHECK(refusal({.presence_penalty = inf}) == "presence_penalty is inf, expected a finite number");
    CHECK(refusal({.frequency_penalty = nan}) == "frequency_penalty is nan, expected a finite number");
    CHECK(refusal({.no_repeat_ngram = -2}) == "no_repeat_ngram is -2, expected at least 0");
    CHECK(refusal({.logprobs = -1}) == "logprobs is -1, expected at least 0");
    CHECK(refusal({.logit_bias = {{100, 1.0F}}}) == "logit_bias names token 100, expected 0 to 99");
    CHECK(refusal({.logit_bias = {{-1, 1.0F}}}) == "logit_bias names token -1, expected 0 to 99");
    CHECK(refusal({.logit_bias = {{5, inf}}}) == "logit_bias of token 5 is inf, expected a finite number or -inf");
    CHECK(refusal({.logit_bias = {{5, nan}}}) == "logit_bias of token 5 is nan, expected a finite number or -inf");
    CHECK(refusal({.logit_bias = {{5, 1.0F}, {6, 1.0F}, {5, 2.0F}}}) ==
          "logit_bias names token 5 twice, expected one bias a token");
    CHECK(refusal({}, 0) == "the vocabulary has 0 tokens, expected 1 to 2147483647");
    CHECK(refusal({}, std::int64_t{1} << 40) == "the vocabulary has 1099511627776 tokens, expected 1 to 2147483647");
}

TEST_CASE("the limits of sampling options themselves are accepted", "[sampler][short]") {
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(refusal({}) == "accepted");
    CHECK(refusal({.temperature = 0.0F}) == "accepted");
    CHECK(refusal({.temperature = std::numeric_limits<float>::max()}) == "accepted");
    CHECK(refusal({.top_k = 1000}) == "accepted");
    CHECK(refusal({.top_p = 1.0F, .min_p = 1.0F, .typical_p = 1.0F}) == "accepted");
    CHECK(refusal({.logit_bias = {{99, -inf}}}) == "accepted");
}

TEST_CASE("unset sampling options take the model's defaults, zeros that were set stay", "[sampler][short]") {
    SamplingOptions options{.top_k = 0, .seed = 5};
    const SamplingOptions model{
        .repetition_penalty = 1.1F, .temperature = 0.6F, .top_k = 20, .top_p = 0.95F, .seed = 1};
    options.fill_unset(model);
    CHECK(options.repetition_penalty == 1.1F);
    CHECK(options.temperature == 0.6F);
    CHECK(options.top_k == 0);
    CHECK(options.top_p == 0.95F);
    CHECK(options.seed == 5U);
    CHECK_FALSE(options.min_p);
}
