// A Generation over a model with an encoder: the source first, then the decoder's sequence.
#include <mixtura/batch.hpp>
#include <mixtura/chat.hpp>
#include <mixtura/generation.hpp>

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/files.hpp"
#include "support/generations.hpp"

using namespace mixtura;

namespace {

Model open_switch() { return test::open_model(test::golden("models/switch")); }

std::vector<float> copied(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

const std::vector<TokenId> kSource = {19, 95, 56, 128, 6, 81, 125, 5, 64, 106, 51, 29, 150, 6, 113, 19, 145},
                           kOther = {7, 8, 9};

}  // namespace

TEST_CASE("what is fed first is the source, and the decoder begins with its start token", "[engine][short]") {
    const Model model = open_switch();
    CHECK(model.has_encoder());
    CHECK(model.layer_count() == 4);
    Generation generation = test::make_generation(model, {});
    CHECK(generation.logits().empty());
    REQUIRE(generation.feed(kSource).is_ok());
    CHECK(std::vector<TokenId>(generation.tokens().begin(), generation.tokens().end()) == std::vector<TokenId>{0});
    const std::vector<float> first = copied(generation.logits());
    CHECK(first.size() == 160);
    REQUIRE(generation.feed(std::vector<TokenId>{37, 92}).is_ok());
    CHECK(generation.tokens().size() == 3);
    const std::vector<float> third = copied(generation.logits());
    CHECK(first != third);

    // Cut and fed again, the same bits; cut to nothing, another source may come.
    REQUIRE(generation.truncate(1).is_ok());
    REQUIRE(generation.feed(std::vector<TokenId>{37}).is_ok());
    REQUIRE(generation.feed(std::vector<TokenId>{92}).is_ok());
    CHECK(copied(generation.logits()) == third);
    REQUIRE(generation.truncate(0).is_ok());
    CHECK(generation.tokens().empty());
    REQUIRE(generation.feed(kOther).is_ok());
    CHECK(copied(generation.logits()) != first);
    REQUIRE(generation.truncate(0).is_ok());
    REQUIRE(generation.feed(kSource).is_ok());
    CHECK(copied(generation.logits()) == first);
}

TEST_CASE("a prompt is a source, and the same source is not read again", "[engine][short]") {
    const Model model = open_switch();
    Generation generation = test::make_generation(model, {});
    GenerationRequest request;
    request.prompt = kSource;
    request.sampling.temperature = 0.0F;
    request.stop.max_tokens = 12;
    const auto answer = generation.generate(request);
    REQUIRE(answer);
    CHECK(answer->prompt_tokens == static_cast<std::int64_t>(kSource.size()));
    CHECK(answer->reused_tokens == 0);
    CHECK(!answer->tokens.empty());
    const auto again = generation.generate(request);
    REQUIRE(again);
    CHECK(again->tokens == answer->tokens);
    CHECK(again->reused_tokens == again->prompt_tokens);

    // The likeliest tokens one by one.
    Generation by_hand = test::make_generation(model, {});
    REQUIRE(by_hand.feed(kSource).is_ok());
    for (const TokenId token : answer->tokens) {
        const auto logits = by_hand.logits();
        CHECK(std::max_element(logits.begin(), logits.end()) - logits.begin() == token);
        REQUIRE(by_hand.feed({&token, 1}).is_ok());
    }
    request.prompt = kOther;
    const auto other = generation.generate(request);
    REQUIRE(other);
    CHECK(other->reused_tokens == 0);
    request.prompt = kSource;
    CHECK(generation.generate(request)->tokens == answer->tokens);
}

TEST_CASE("a source that does not fit, or is stopped, leaves nothing behind", "[engine][short]") {
    const Model model = open_switch();
    GenerationOptions options;
    options.context_tokens = 16;
    options.step_tokens = 4;  // of the decoder: a source is computed at once
    Generation generation = test::make_generation(model, options);
    CHECK(generation.feed(kSource).code() == StatusCode::out_of_range);
    CHECK(generation.feed(std::vector<TokenId>{5, 160}).code() == StatusCode::invalid_argument);
    CHECK(generation.tokens().empty());
    FeedOptions stopping;
    int layers = 0;
    stopping.on_route = [&](std::int64_t, std::int64_t, const RoutePlan&) { return ++layers, Flow::stop; };
    const std::span<const TokenId> short_source = std::span(kSource).first(16);
    CHECK(generation.feed(short_source, stopping).code() == StatusCode::callback_stopped);
    CHECK(layers == 1);
    CHECK(generation.tokens().empty());
    CHECK(generation.logits().empty());
    REQUIRE(generation.feed(short_source).is_ok());
    const std::vector<TokenId> more(15, 9);
    REQUIRE(generation.feed(more).is_ok());
    CHECK(generation.feed(std::vector<TokenId>{9}).code() == StatusCode::out_of_range);
    CHECK(generation.tokens().size() == 16);
}

TEST_CASE("batches and chats refuse a model with an encoder", "[engine][short]") {
    const Model model = open_switch();
    const auto batch = Batch::create(model, {}, 2);
    CHECK(batch.status().code() == StatusCode::unsupported);
    CHECK(Chat::create(model).status().code() == StatusCode::unsupported);
}
