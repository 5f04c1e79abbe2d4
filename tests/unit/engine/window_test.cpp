// Layers that see only so far back let go of what no later query can see.
#include <mixtura/generation.hpp>

#include <catch2/catch.hpp>

#include "support/hub_checkpoint.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using test::HubCheckpoint;
using test::TemporaryFolder;

namespace {

constexpr std::size_t kTokens = 2048;

std::vector<TokenId> many_tokens() {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < kTokens; ++i) tokens.push_back(static_cast<TokenId>(5 + i * 37 % 150));
    return tokens;
}

// Bytes of keys and values after 64 tokens and after all of them, fed 32 at a time, and the last token's logits.
struct Held {
    std::uint64_t early = 0, late = 0;
    std::vector<float> logits;
};
Held held_by(const HubCheckpoint& checkpoint) {
    const TemporaryFolder folder;
    const auto model = Model::open(checkpoint.write(folder));
    REQUIRE(model);
    auto generation = Generation::create(*model, {.thread_count = 1, .cache_dtype = DType::f32, .step_tokens = 32});
    REQUIRE(generation);
    const std::vector<TokenId> tokens = many_tokens();
    Held held;
    REQUIRE(generation->feed(std::span(tokens).first(64)).is_ok());
    held.early = generation->cache_bytes();
    REQUIRE(generation->feed(std::span(tokens).subspan(64)).is_ok());
    held.late = generation->cache_bytes();
    held.logits.assign(generation->logits().begin(), generation->logits().end());
    // What was let go of was not needed: fed in other parts, which let go later, the answer is the same.
    auto other = Generation::create(*model, {.thread_count = 1, .cache_dtype = DType::f32, .step_tokens = 500});
    REQUIRE(other);
    REQUIRE(other->feed(tokens).is_ok());
    CHECK(test::first_difference(held.logits, other->logits()) == held.logits.size());
    return held;
}

}  // namespace

TEST_CASE("a model of windows alone, or of chunks alone, holds no more after 2048 tokens than after 64",
          "[engine][short]") {
    HubCheckpoint windows(test::golden("models/gpt-oss")), chunks(test::golden("models/llama4"));
    for (auto& type : windows.config.at("layer_types")) type = "sliding_attention";
    chunks.config["no_rope_layers"] = {1, 1, 1};
    for (HubCheckpoint* checkpoint : {&windows, &chunks}) {
        checkpoint->config["max_position_embeddings"] = 4096;
        const Held held = held_by(*checkpoint);
        CHECK(held.early > 0);
        CHECK(held.late == held.early);
    }
}

TEST_CASE("where one layer of three sees everything, only its keys and values grow", "[engine][short]") {
    for (const std::string name : {"gpt-oss", "llama4"}) {
        INFO(name);
        HubCheckpoint checkpoint(test::golden("models/" + name));
        checkpoint.config["max_position_embeddings"] = 4096;
        const Held held = held_by(checkpoint);
        // Keys and values of a token in one layer: 2 heads of 16 f32 each.
        constexpr std::uint64_t kTokenBytes = 2 * 2 * 16 * sizeof(float);
        CHECK(held.late - held.early == (kTokens - 64) * kTokenBytes);
    }
}
