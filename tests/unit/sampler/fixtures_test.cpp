// Probabilities against transformers' own logits processors (tests/golden/make/make_samplers.py).
#include <mixtura/sampler.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/number.hpp"
#include "formats/json.hpp"
#include "support/files.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

SamplingOptions options_of(JsonValue given) {
    SamplingOptions options;
    for (const auto [key, value] : given.members()) {
        const auto real = [&, held = value] { return static_cast<float>(held.as_real().value()); };
        const auto integer = [&, held = value] { return static_cast<std::int32_t>(held.as_integer().value()); };
        if (key == "temperature")
            options.temperature = real();
        else if (key == "top_k")
            options.top_k = integer();
        else if (key == "top_p")
            options.top_p = real();
        else if (key == "min_p")
            options.min_p = real();
        else if (key == "typical_p")
            options.typical_p = real();
        else if (key == "repetition_penalty")
            options.repetition_penalty = real();
        else if (key == "no_repeat_ngram")
            options.no_repeat_ngram = integer();
        else if (key == "logit_bias") {
            for (const auto [token, bias] : value.members()) {
                const auto amount = static_cast<float>(bias.as_real().value());
                options.logit_bias.push_back({parse_integer<TokenId>(token).value(), amount});
            }
        } else
            FAIL("unknown option " << key);
    }
    return options;
}

std::vector<TokenId> tokens_of(const std::vector<std::byte>& bytes) {  // i64
    std::vector<TokenId> tokens;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::int64_t)) {
        std::int64_t token = 0;
        std::memcpy(&token, bytes.data() + at, sizeof token);
        tokens.push_back(static_cast<TokenId>(token));
    }
    return tokens;
}

// torch.sort is not stable: where several tokens tie at a cut of top-p, transformers keeps an arbitrary few of them.
// We keep all.  So what is expected is the softmax over everything at least as likely as the fixture's least likely
// token; where nothing ties that is the fixture itself, which `tied` tells.
std::vector<float> with_ties(const std::vector<float>& logits, const std::vector<float>& kept, bool& tied) {
    double least = INFINITY, total = 0;
    std::size_t kept_count = 0, count = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] > 0) least = std::min<double>(least, logits[i]), ++kept_count;
    }
    std::vector<double> weights(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (logits[i] >= least) total += weights[i] = std::exp(logits[i] - least), ++count;
    }
    tied = count != kept_count;
    std::vector<float> out;
    for (const double weight : weights) out.push_back(static_cast<float>(weight / total));
    return out;
}

}  // namespace

TEST_CASE("every golden sampling case gives transformers' probabilities to 1e-6", "[sampler][short]") {
    const Tensors tensors("samplers.safetensors");
    const auto document = JsonDocument::parse(read_file(golden("samplers.json")), "samplers.json");
    REQUIRE(document.is_ok());
    std::size_t cases = 0;
    double worst = 0;
    std::vector<std::string> tied_cases;
    for (const auto [name_view, given] : document->root().members()) {
        const std::string name(name_view);
        INFO(name);
        const std::vector<float> logits = tensors.floats(name + ".logits");
        std::vector<float> expected = tensors.floats(name + ".probs");
        const std::vector<TokenId> history = tokens_of(tensors.bytes(name + ".history"));

        const SamplingOptions options = options_of(given);
        if (options.top_p && !options.repetition_penalty && !options.temperature) {  // logits as they are cut
            bool tied = false;
            const std::vector<float> closed = with_ties(logits, expected, tied);
            if (tied) {
                tied_cases.push_back(name);
                expected = closed;
            }
        }
        auto sampler = Sampler::create(static_cast<std::int64_t>(logits.size()), options);
        REQUIRE(sampler.is_ok());
        // Prompt or output makes no difference to what the golden cases use.
        for (const std::size_t prompt_count : {std::size_t{0}, std::size_t{7}, history.size()}) {
            const auto found = sampler->probabilities(logits, {history, prompt_count});
            REQUIRE(found.is_ok());
            for (std::size_t i = 0; i < logits.size(); ++i) {
                const double difference = std::abs(static_cast<double>((*found)[i]) - static_cast<double>(expected[i]));
                worst = std::max(worst, difference);
                if (difference > 1e-6) FAIL("token " << i << ": " << (*found)[i] << " expected " << expected[i]);
            }
        }
        ++cases;
    }
    CHECK(cases == 21);
    CHECK(tied_cases == std::vector<std::string>{"case19"});
    CHECK(worst <= 1e-6);
}
