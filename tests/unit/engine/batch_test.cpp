// Batch against Generation: in company or alone, a sequence has one answer.
#include <mixtura/batch.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include "support/files.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kSequences = 5, kSteps = 40;  // more than one block of the cache

Model open_model(const std::string& path) {
    auto model = Model::open(test::golden(path));
    REQUIRE(model);
    return *std::move(model);
}

// A token for each sequence and step, no two sequences alike.
std::vector<TokenId> tokens_of_step(std::int64_t step, std::int64_t vocabulary) {
    std::vector<TokenId> tokens;
    for (std::int64_t s = 0; s < kSequences; ++s)
        tokens.push_back(static_cast<TokenId>((step * 37 + s * 53 + step * s) % vocabulary));
    return tokens;
}

std::size_t vocabulary_of(const Model& model) {
    auto generation = Generation::create(model);
    REQUIRE(generation);
    const TokenId first = 0;
    REQUIRE(generation->feed({&first, 1}).is_ok());
    return generation->logits().size();
}

}  // namespace

TEST_CASE("each sequence of a batch has the logits of a generation alone, bit for bit", "[engine][short]") {
    for (const std::string path :
         {"models/qwen3", "models/gpt2", "models/bloom-alibi", "models/qwen3-next", "gguf/llama3-rope.gguf"}) {
        INFO(path);
        const Model model = open_model(path);
        const std::size_t vocabulary = vocabulary_of(model);
        for (const int threads : {1, 2}) {
            const GenerationOptions options{.thread_count = threads};
            auto batch = Batch::create(model, options, kSequences);
            REQUIRE(batch);
            CHECK(batch->sequence_count() == kSequences);
            std::vector<Generation> alone;
            for (std::int64_t s = 0; s < kSequences; ++s) {
                auto generation = Generation::create(model, options);
                REQUIRE(generation);
                alone.push_back(*std::move(generation));
            }
            std::vector<float> logits(static_cast<std::size_t>(kSequences) * vocabulary);
            std::int64_t differing = 0;
            for (std::int64_t step = 0; step < kSteps; ++step) {
                const std::vector<TokenId> tokens = tokens_of_step(step, static_cast<std::int64_t>(vocabulary));
                REQUIRE(batch->step(tokens, step % 3 == 2 ? std::span<float>() : std::span(logits)).is_ok());
                for (std::size_t s = 0; s < alone.size(); ++s) {
                    REQUIRE(alone[s].feed({&tokens[s], 1}).is_ok());
                    if (step % 3 == 2) continue;  // nobody asked for logits
                    const auto row = std::span<const float>(logits).subspan(s * vocabulary, vocabulary);
                    if (test::first_difference(row, alone[s].logits()) != vocabulary) ++differing;
                }
            }
            CHECK(differing == 0);
            CHECK(batch->length_tokens() == kSteps);
        }
    }
}

TEST_CASE("a batch that is reset answers as a new one", "[engine][short]") {
    const Model model = open_model("models/qwen3");
    const std::size_t vocabulary = vocabulary_of(model);
    auto batch = Batch::create(model, {}, kSequences);
    REQUIRE(batch);
    std::vector<float> first(static_cast<std::size_t>(kSequences) * vocabulary), again(first.size());
    const std::vector<TokenId> tokens = tokens_of_step(3, static_cast<std::int64_t>(vocabulary));
    REQUIRE(batch->step(tokens, first).is_ok());
    REQUIRE(batch->step(tokens, again).is_ok());
    CHECK(test::first_difference(first, again) != first.size());
    REQUIRE(batch->reset().is_ok());
    CHECK(batch->length_tokens() == 0);
    REQUIRE(batch->step(tokens, again).is_ok());
    CHECK(test::first_difference(first, again) == first.size());
}

TEST_CASE("a step that a batch refuses changes no sequence", "[engine][short]") {
    for (const std::string path : {"models/qwen3", "models/qwen3-next"}) {
        INFO(path);
        const Model model = open_model(path);
        const std::size_t vocabulary = vocabulary_of(model);
        auto batch = Batch::create(model, {.context_tokens = 2}, kSequences);
        auto untouched = Batch::create(model, {.context_tokens = 2}, kSequences);
        REQUIRE(batch);
        REQUIRE(untouched);
        std::vector<float> logits(static_cast<std::size_t>(kSequences) * vocabulary), expected(logits.size());
        const std::vector<TokenId> tokens = tokens_of_step(1, static_cast<std::int64_t>(vocabulary));
        REQUIRE(batch->step(tokens, {}).is_ok());
        REQUIRE(untouched->step(tokens, {}).is_ok());

        std::vector<TokenId> foreign = tokens;
        foreign.back() = static_cast<TokenId>(vocabulary);
        CHECK(batch->step(foreign, logits).code() == StatusCode::invalid_argument);
        CHECK(batch->step(std::span(tokens).first(2), logits).code() == StatusCode::invalid_argument);
        CHECK(batch->step(tokens, std::span(logits).first(3)).code() == StatusCode::invalid_argument);
        CHECK(batch->length_tokens() == 1);
        REQUIRE(batch->step(tokens, logits).is_ok());
        REQUIRE(untouched->step(tokens, expected).is_ok());
        CHECK(test::first_difference(logits, expected) == logits.size());
        CHECK(batch->step(tokens, logits).code() == StatusCode::out_of_range);
    }
    const Model model = open_model("models/qwen3");
    CHECK(Batch::create(model, {}, 0).status().code() == StatusCode::invalid_argument);
    CHECK(Batch::create(model, {}, 65537).status().code() == StatusCode::invalid_argument);
    CHECK(Batch::create(model, {.step_tokens = 0}, 1).status().code() == StatusCode::invalid_argument);
}
