#include <mixtura/sampler.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace mixtura;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Sampler make(std::size_t vocabulary_size, SamplingOptions options) {
    auto sampler = Sampler::create(static_cast<std::int64_t>(vocabulary_size), std::move(options));
    REQUIRE(sampler.is_ok());
    return *std::move(sampler);
}

std::vector<float> probabilities(const std::vector<float>& logits, SamplingOptions options,
                                 const std::vector<TokenId>& history = {}, std::size_t prompt_count = 0) {
    Sampler sampler = make(logits.size(), std::move(options));
    auto found = sampler.probabilities(logits, {history, prompt_count});
    INFO(found.status().message());
    REQUIRE(found.is_ok());
    return *std::move(found);
}

std::string failure(const std::vector<float>& logits, SamplingOptions options = {}, const TokenHistory& history = {}) {
    Sampler sampler = make(logits.size(), std::move(options));
    const auto found = sampler.sample(logits, history);
    const auto distribution = sampler.probabilities(logits, history);
    REQUIRE_FALSE(found.is_ok());
    REQUIRE_FALSE(distribution.is_ok());
    CHECK(distribution.status().message() == found.status().message());
    return std::string(found.status().message());
}

}  // namespace

TEST_CASE("temperature 0 takes the largest logit, the lowest id on a tie, and skips the filters", "[sampler][short]") {
    Sampler sampler = make(5, {.temperature = 0.0F, .top_k = 1, .typical_p = 0.1F});
    const std::vector<float> logits = {1, 3, 2, 3, -kInf};
    const auto sampled = sampler.sample(logits, {});
    REQUIRE(sampled.is_ok());
    CHECK(sampled->token == 1);
    CHECK(sampled->probability == 1.0F);
    CHECK_FALSE(sampled->logprob);
    CHECK(*sampler.probabilities(logits, {}) == std::vector<float>{0, 1, 0, 0, 0});
}

TEST_CASE("a NaN among the logits is named and never picked", "[sampler][short]") {
    // Positions in and behind the vector lanes, in the first block of 256 and later ones, beside infinities.
    for (const std::size_t size : {1U, 15U, 16U, 300U, 1000U}) {
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            std::vector<float> logits(size, 0.5F);
            logits[size - 1] = kInf;
            logits[0] = -kInf;
            logits[at] = kNan;
            if (at + 1 < size) logits[size - 1] = kNan;
            CHECK(failure(logits) == "the logit of token " + std::to_string(at) + " is NaN");
            CHECK(failure(logits, {.temperature = 0.0F}) == "the logit of token " + std::to_string(at) + " is NaN");
        }
    }
    const auto poison = [](std::span<float> logits, const TokenHistory&) {
        logits[2] = kNan;
        return Flow::go_on;
    };
    CHECK(failure({1, 2, 3}, {.edit_logits = poison}) ==
          "the logit of token 2 is NaN after bias, penalties and edit_logits");
}

TEST_CASE("logits of -inf are ruled out, and all of them are an error", "[sampler][short]") {
    CHECK(failure({-kInf, -kInf}) == "all 2 logits are -inf, expected one token that may follow");
    CHECK(failure({1, 2}, {.logit_bias = {{0, -kInf}, {1, -kInf}}, .temperature = 0.0F}) ==
          "all 2 logits are -inf after bias, penalties and bans, expected one token that may follow");
    CHECK(probabilities({-kInf, 2, -kInf, 2}, {}) == std::vector<float>{0, 0.5F, 0, 0.5F});
    CHECK(probabilities({-kInf, 2, -kInf, 2}, {.top_k = 3, .top_p = 0.9F, .min_p = 0.1F, .typical_p = 0.99F}) ==
          std::vector<float>{0, 0.5F, 0, 0.5F});
}

TEST_CASE("logits of +inf share the whole distribution", "[sampler][short]") {
    const SamplingOptions all{.temperature = 0.7F, .top_k = 3, .top_p = 0.9F, .min_p = 0.1F};
    CHECK(probabilities({kInf, 2, -kInf, kInf}, {}) == std::vector<float>{0.5F, 0, 0, 0.5F});
    CHECK(probabilities({kInf, 2, -kInf, kInf}, all) == std::vector<float>{0.5F, 0, 0, 0.5F});
    CHECK(probabilities({kInf, 2}, {.logit_bias = {{0, -kInf}}}) == std::vector<float>{0, 1});
    Sampler sampler = make(3, {.temperature = 0.0F, .logprobs = 3});
    const auto sampled = sampler.sample(std::vector<float>{1, kInf, kInf}, {});
    REQUIRE(sampled.is_ok());
    CHECK(sampled->token == 1);
    CHECK(*sampled->logprob == Approx(-std::log(2.0)));
    REQUIRE(sampled->likeliest.size() == 3);
    CHECK(sampled->likeliest[2].token == 0);
    CHECK(sampled->likeliest[2].logprob == -kInf);
}

TEST_CASE("extreme finite logits and temperatures stay finite", "[sampler][short]") {
    const float most = std::numeric_limits<float>::max();
    CHECK(probabilities({-most, most, 0}, {}) == std::vector<float>{0, 1, 0});
    CHECK(probabilities({3, 2, 3}, {.temperature = std::numeric_limits<float>::denorm_min()}) ==
          std::vector<float>{0.5F, 0, 0.5F});
    CHECK(probabilities({3, 2, 3, 3}, {.temperature = 1e30F}) == std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F});
    CHECK(probabilities({most, -most}, {.temperature = most, .typical_p = 0.5F}) == std::vector<float>{1, 0});
    CHECK(probabilities({0.0F, -0.0F, -1}, {.top_k = 1}) == std::vector<float>{0.5F, 0.5F, 0});
}

TEST_CASE("a call is refused when logits or history do not fit the vocabulary", "[sampler][short]") {
    Sampler sampler = make(4, {.repetition_penalty = 1.2F});
    const std::vector<float> logits = {1, 2, 3, 4};
    CHECK(sampler.sample(std::vector<float>{1, 2}, {}).status().message() == "2 logits are given, expected 4");
    const std::vector<TokenId> history = {0, 3, 4};
    CHECK(sampler.sample(logits, {history, 1}).status().message() == "token 2 of the history is 4, expected 0 to 3");
    CHECK(sampler.sample(logits, {std::span(history).first(2), 5}).status().message() ==
          "the history has 2 tokens, but 5 of them are said to be the prompt's");
    CHECK(make(4, {.no_repeat_ngram = 1}).sample(logits, {history, 1}).status().message() ==
          "token 2 of the history is 4, expected 0 to 3");
    CHECK(sampler.sample(logits, {std::span(history).first(2), 1}).is_ok());  // the failures left nothing behind
}

TEST_CASE("repetition counts prompt and output, presence and frequency the output only", "[sampler][short]") {
    const std::vector<float> logits = {2, 2, 2, -2};
    const std::vector<TokenId> history = {0, 3, 1, 1, 1};  // prompt: 0, 3
    const auto ratio = [&](SamplingOptions options, std::size_t token) {
        const std::vector<float> p = probabilities(logits, std::move(options), history, 2);
        return std::log(p[token] / p[2]);  // token 2 was never seen
    };
    CHECK(ratio({.repetition_penalty = 2.0F}, 0) == Approx(-1));
    CHECK(ratio({.repetition_penalty = 2.0F}, 1) == Approx(-1));
    CHECK(ratio({.repetition_penalty = 2.0F}, 3) == Approx(-6));
    CHECK(ratio({.presence_penalty = 0.5F}, 0) == Approx(0).margin(1e-6));
    CHECK(ratio({.presence_penalty = 0.5F}, 1) == Approx(-0.5));
    CHECK(ratio({.frequency_penalty = 0.5F}, 1) == Approx(-1.5));
    const SamplingOptions all{.repetition_penalty = 2.0F, .presence_penalty = 0.25F, .frequency_penalty = 0.5F};
    CHECK(ratio(all, 1) == Approx(-2.75));
    CHECK(ratio({.frequency_penalty = 0.5F}, 3) == Approx(-4));
}

TEST_CASE("penalties depend on the history given, not on the calls before", "[sampler][short]") {
    const std::vector<float> logits = {1, 2, 3, 2, 1};
    const SamplingOptions options{.repetition_penalty = 1.3F, .presence_penalty = 0.2F, .frequency_penalty = 0.1F};
    Sampler sampler = make(logits.size(), options);
    const std::vector<std::pair<std::vector<TokenId>, std::size_t>> histories = {
        {{0, 1}, 2},    {{0, 1, 2}, 2},   {{0, 1, 2, 2, 4}, 2}, {{0, 1, 2}, 2},  // grows, then is cut back
        {{0, 3, 2}, 2},                                                          // another one of that length
        {{0, 3, 2}, 1},                                                          // the same with another prompt
        {{}, 0},        {{0, 3, 2, 2}, 1}};
    for (const auto& [tokens, prompt_count] : histories) {
        const auto found = sampler.probabilities(logits, {tokens, prompt_count});
        REQUIRE(found.is_ok());
        CHECK(*found == probabilities(logits, options, tokens, prompt_count));
    }
}

TEST_CASE("no-repeat n-gram rules out what would repeat a run of the history", "[sampler][short]") {
    const std::vector<float> logits(6, 1.0F);
    const auto banned = [&](std::int32_t n, const std::vector<TokenId>& history) {
        std::vector<TokenId> tokens;
        const std::vector<float> p = probabilities(logits, {.no_repeat_ngram = n}, history, history.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            if (p[i] == 0) tokens.push_back(static_cast<TokenId>(i));
        }
        return tokens;
    };
    CHECK(banned(1, {}).empty());
    CHECK(banned(1, {2, 4, 2}) == std::vector<TokenId>{2, 4});
    CHECK(banned(2, {1, 2, 3, 1}) == std::vector<TokenId>{2});
    CHECK(banned(2, {1, 2, 3, 1, 4, 1}) == std::vector<TokenId>{2, 4});
    CHECK(banned(2, {1, 1}) == std::vector<TokenId>{1});
    CHECK(banned(3, {1, 2, 3, 1, 2}) == std::vector<TokenId>{3});
    CHECK(banned(3, {1, 2}).empty());
    CHECK(banned(4, {1, 2}).empty());
    CHECK(banned(0, {1, 1, 1}).empty());
}

TEST_CASE("a callback sees the logits after the penalties and may change or stop them", "[sampler][short]") {
    const std::vector<TokenId> history = {3, 1};
    std::size_t calls = 0;
    const auto force = [&](std::span<float> logits, const TokenHistory& seen) {
        ++calls;
        CHECK(logits[0] == 5.0F);  // 1 + its bias
        CHECK(seen.tokens.size() == 2);
        CHECK(seen.prompt_count == 1);
        logits[3] = kInf;
        return Flow::go_on;
    };
    const std::vector<float> logits = {1, 2, 3, 0};
    Sampler sampler = make(4, {.logit_bias = {{0, 4.0F}}, .edit_logits = force});
    CHECK(sampler.sample(logits, {history, 1})->token == 3);
    CHECK(calls == 1);
    CHECK(logits[3] == 0.0F);

    Sampler stopping = make(4, {.edit_logits = [](std::span<float>, const TokenHistory&) { return Flow::stop; }});
    const Status stopped = stopping.sample(logits, {history, 1}).status();
    CHECK(stopped.code() == StatusCode::callback_stopped);
    CHECK(stopped.message() == "edit_logits ended the request at position 2");

    Sampler throwing =
        make(4, {.edit_logits = [](std::span<float>, const TokenHistory&) -> Flow { throw std::runtime_error("no"); }});
    CHECK(throwing.sample(logits, {history, 1}).status().code() == StatusCode::internal);
}

TEST_CASE("logprobs are the model's own, before any option", "[sampler][short]") {
    const std::vector<float> logits = {0, std::log(2.0F), std::log(4.0F), 0};
    Sampler sampler = make(4, {.logit_bias = {{0, 50.0F}}, .temperature = 3.0F, .logprobs = 3});
    const auto sampled = sampler.sample(logits, {});
    REQUIRE(sampled.is_ok());
    CHECK(sampled->token == 0);
    CHECK(*sampled->logprob == Approx(-std::log(8.0)));
    CHECK(sampled->probability == Approx(1));
    REQUIRE(sampled->likeliest.size() == 3);
    CHECK(sampled->likeliest[0].token == 2);
    CHECK(sampled->likeliest[0].logprob == Approx(-std::log(2.0)));
    CHECK(sampled->likeliest[1].token == 1);
    CHECK(sampled->likeliest[2].token == 0);  // of the two that tie, the lower id

    Sampler chosen_only = make(4, {.temperature = 0.0F, .logprobs = 0});
    CHECK(*chosen_only.sample(logits, {})->logprob == Approx(-std::log(2.0)));
    CHECK(chosen_only.sample(logits, {})->likeliest.empty());

    Sampler more_than_there_are = make(4, {.temperature = 0.0F, .logprobs = 1'000'000'000});
    CHECK(more_than_there_are.sample(std::vector<float>{1, -kInf, 0, 2}, {})->likeliest.size() == 3);

    // Every logit given is -inf, but the callback allows one: that token had no probability.
    const auto allow = [](std::span<float> edited, const TokenHistory&) {
        edited[1] = 0;
        return Flow::go_on;
    };
    Sampler allowing = make(2, {.edit_logits = allow, .logprobs = 2});
    const auto allowed = allowing.sample(std::vector<float>{-kInf, -kInf}, {});
    REQUIRE(allowed.is_ok());
    CHECK(allowed->token == 1);
    CHECK(*allowed->logprob == -kInf);
    CHECK(allowed->likeliest.empty());
}

TEST_CASE("samplers that share their working memory answer as those that do not", "[sampler][short]") {
    const std::vector<float> logits = {1, 2, 3, 2, 1}, others = {5, 1, 1, 1, 5};
    Sampler first = make(5, {.top_p = 0.9F});
    auto second = Sampler::create(5, {.repetition_penalty = 2.0F, .top_k = 2}, &first);
    REQUIRE(second.is_ok());
    const std::vector<TokenId> history = {0};
    for (int i = 0; i < 3; ++i) {
        CHECK(*first.probabilities(logits, {}) == probabilities(logits, {.top_p = 0.9F}));
        CHECK(*second->probabilities(others, {history, 1}) ==
              probabilities(others, {.repetition_penalty = 2.0F, .top_k = 2}, history, 1));
    }
}
