// A model whose layers keep states: whatever is cut off and answered again, the numbers are those of a fresh sequence.
#include <mixtura/chat.hpp>
#include <mixtura/generation.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "support/generations.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

Model hybrid() { return test::open_model(test::golden("models/qwen3-next")); }

Generation create(const Model& model, const GenerationOptions& options = {.thread_count = 2}) {
    return test::make_generation(model, options);
}

std::vector<TokenId> tokens_of(std::size_t count, std::size_t seed) {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * i * 7 + i * 31 + seed) % 160));
    return tokens;
}

std::vector<float> fresh_logits(const Model& model, std::span<const TokenId> tokens) {
    Generation generation = create(model);
    REQUIRE(generation.feed(tokens).is_ok());
    return {generation.logits().begin(), generation.logits().end()};
}

bool is_same(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && test::first_difference(a, b) == a.size();
}

GenerationRequest greedy(std::vector<TokenId> prompt, std::int64_t tokens) {
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0.0F;
    request.stop.tokens = std::vector<TokenId>{};
    request.stop.max_tokens = tokens;
    return request;
}

}  // namespace

TEST_CASE("a sequence cut anywhere goes on as a fresh one of the same tokens", "[engine][short]") {
    const Model model = hybrid();
    const std::vector<TokenId> tokens = tokens_of(90, 3);
    Generation generation = create(model, {.thread_count = 2, .step_tokens = 16});
    REQUIRE(generation.feed(std::span(tokens).first(40)).is_ok());
    REQUIRE(generation.feed(std::span(tokens).subspan(40, 30)).is_ok());
    for (std::size_t i = 70; i < 80; ++i) REQUIRE(generation.feed({&tokens[i], 1}).is_ok());
    // Back by one; to within a feed of one token each; to where a feed began; into it; to nothing.
    for (const std::size_t length : {79, 75, 70, 40, 39, 7, 0}) {
        INFO("cut to " << length);
        REQUIRE(generation.truncate(static_cast<std::int64_t>(length)).is_ok());
        CHECK(generation.tokens().size() == length);
        CHECK(std::equal(generation.tokens().begin(), generation.tokens().end(), tokens.begin()));
        CHECK(generation.logits().empty());
        const std::vector<TokenId> more = tokens_of(5, length);
        REQUIRE(generation.feed(more).is_ok());
        std::vector<TokenId> all(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length));
        all.insert(all.end(), more.begin(), more.end());
        CHECK(is_same(generation.logits(), fresh_logits(model, all)));
        REQUIRE(generation.truncate(static_cast<std::int64_t>(length)).is_ok());
    }
    CHECK(generation.truncate(1).code() == StatusCode::out_of_range);
}

TEST_CASE("the same prompt again computes its last token only, and a longer one what is new", "[engine][short]") {
    const Model model = hybrid();
    Generation generation = create(model);
    const std::vector<TokenId> prompt = tokens_of(50, 1);
    const auto first = generation.generate(greedy(prompt, 12));
    REQUIRE(first);
    CHECK(first->reused_tokens == 0);
    const auto again = generation.generate(greedy(prompt, 12));
    REQUIRE(again);
    CHECK(again->reused_tokens == 49);
    CHECK(again->tokens == first->tokens);

    std::vector<TokenId> next = prompt;
    next.insert(next.end(), again->tokens.begin(), again->tokens.end() - 1);  // the last was never fed
    const std::vector<TokenId> question = tokens_of(20, 9);
    next.insert(next.end(), question.begin(), question.end());
    const auto second = generation.generate(greedy(next, 12));
    REQUIRE(second);
    CHECK(second->reused_tokens == 61);
    CHECK(second->tokens == create(model).generate(greedy(next, 12))->tokens);

    // The first question again, another way: back to in front of its last token, though the common part is longer.
    std::vector<TokenId> changed = prompt;
    changed.insert(changed.end(), again->tokens.begin(), again->tokens.begin() + 3);
    changed.insert(changed.end(), question.begin(), question.end());
    const auto other = generation.generate(greedy(changed, 12));
    REQUIRE(other);
    CHECK(other->reused_tokens == 49);
    CHECK(other->tokens == create(model).generate(greedy(changed, 12))->tokens);
}

TEST_CASE("a feed that is stopped in its first, middle or only step leaves the states as they were",
          "[engine][short]") {
    const Model model = hybrid();
    const std::vector<TokenId> tokens = tokens_of(60, 5), added = tokens_of(20, 6);
    Generation generation = create(model, {.thread_count = 2, .step_tokens = 8});
    REQUIRE(generation.feed(tokens).is_ok());
    const std::vector<float> before(generation.logits().begin(), generation.logits().end());
    for (const std::size_t count : {1, 5, 20}) {
        for (const std::int64_t stop_at : {60, 68, 76}) {
            FeedOptions options;
            options.on_route = [&](std::int64_t position, std::int64_t layer, const RoutePlan&) {
                return position >= stop_at && layer == 2 ? Flow::stop : Flow::go_on;
            };
            const Status status = generation.feed(std::span(added).first(count), options);
            if (status.is_ok()) {
                CHECK(static_cast<std::int64_t>(60 + count) <= stop_at);
                REQUIRE(generation.truncate(59).is_ok());
                REQUIRE(generation.feed({&tokens[59], 1}).is_ok());
            } else {
                CHECK(status.code() == StatusCode::callback_stopped);
            }
            CHECK(is_same(generation.logits(), before));
            CHECK(generation.tokens().size() == 60);
        }
    }
    REQUIRE(generation.feed(added).is_ok());
    std::vector<TokenId> all = tokens;
    all.insert(all.end(), added.begin(), added.end());
    CHECK(is_same(generation.logits(), fresh_logits(model, all)));
}

TEST_CASE("the states and their snapshots take what the forecast says, however many turns there are",
          "[engine][short]") {
    const std::string path = test::golden("models/qwen3-next");
    const Model model = test::open_model(path);
    Generation generation = create(model, {.thread_count = 1, .context_tokens = 256});
    std::vector<TokenId> conversation;
    while (conversation.size() < 245) {
        const std::vector<TokenId> turn = tokens_of(20, conversation.size());
        conversation.insert(conversation.end(), turn.begin(), turn.end());
        const auto answer = generation.generate(greedy(conversation, 3));
        REQUIRE(answer);
        conversation.insert(conversation.end(), answer->tokens.begin(), answer->tokens.end());
    }
    const auto forecast = Model::forecast(path, 256, DType::f16);
    REQUIRE(forecast);
    CHECK(generation.cache_bytes() == forecast->cache_bytes);
}

TEST_CASE("a chat about a model with states answers again from where the answer began", "[engine][short]") {
    // The fixture with a vocabulary that can be written with.
    test::HubCheckpoint checkpoint(test::golden("models/qwen3-next"));
    constexpr std::int64_t kVocabulary = 1600;
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
        const test::Array rows = checkpoint.tensors.at(name);
        test::Array& all = checkpoint.tensors.at(name);
        while (all.shape[0] < kVocabulary) all = test::joined(all, rows);
    }
    checkpoint.config["vocab_size"] = kVocabulary;
    const test::TemporaryFolder folder;
    const std::string path = checkpoint.write(folder);
    std::filesystem::copy(test::golden("tokenizers/bpe-qwen2/tokenizer.json"), folder.file("tokenizer.json"));
    folder.write("tokenizer_config.json",
                 R"({"eos_token": "<|im_end|>", "chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}\n)"
                 R"({{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"})");
    const Model model = test::open_model(path);
    ChatOptions options;
    options.generation = {.thread_count = 2};
    options.sampling.temperature = 1.0F;
    options.sampling.seed = 5;
    options.stop.max_tokens = 10;
    const auto chat_of = [&] {
        auto chat = Chat::create(model, options);
        INFO(chat.status().message());
        REQUIRE(chat);
        return *std::move(chat);
    };
    Chat chat = chat_of();
    REQUIRE(chat.add("user", "It's 12 o'clock, and all is well.").is_ok());
    const auto first = chat.reply();
    INFO(first.status().message());
    REQUIRE(first);
    const auto second = chat.regenerate();
    REQUIRE(second);
    CHECK(second->reused_tokens == second->prompt_tokens - 1);
    CHECK(second->tokens != first->tokens);
    const auto third = chat.regenerate();
    REQUIRE(third);
    CHECK(third->reused_tokens == third->prompt_tokens - 1);

    // The same draws as a chat that was never taken back.
    Chat other = chat_of();
    REQUIRE(other.add("user", "It's 12 o'clock, and all is well.").is_ok());
    REQUIRE(other.reply());
    CHECK(other.regenerate()->tokens == second->tokens);
    CHECK(other.regenerate()->tokens == third->tokens);
    REQUIRE(chat.add("user", "Once more").is_ok());
    REQUIRE(other.add("user", "Once more").is_ok());
    const auto next = chat.reply(), same = other.reply();
    REQUIRE(next);
    REQUIRE(same);
    CHECK(next->tokens == same->tokens);
    CHECK(next->reused_tokens >= third->prompt_tokens - 1);
}
