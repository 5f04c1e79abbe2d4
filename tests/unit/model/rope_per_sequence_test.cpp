// Rotary scalings that hang on the length: fixed for each sequence by the limit it was admitted with, whatever it is
// fed in and whoever rides along.
#include <mixtura/mixtura.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "support/gguf_of_model.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using test::HubCheckpoint;
using test::TemporaryFolder;

namespace {

std::string model_folder(const std::string& model) { return test::golden("models/" + model); }

std::vector<TokenId> some_tokens(std::size_t count) {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(5 + i * 37 % 150));
    return tokens;
}

// The last token's logits of 24 tokens, admitted for so many.
std::vector<float> logits_at_limit(const Model& model, std::int64_t limit, std::int64_t step = 2048) {
    auto generation = Generation::create(
        model, {.thread_count = 1, .context_tokens = limit, .cache_dtype = DType::f32, .step_tokens = step});
    REQUIRE(generation);
    REQUIRE(generation->feed(some_tokens(24)).is_ok());
    return {generation->logits().begin(), generation->logits().end()};
}

bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && test::first_difference(a, b) == a.size();
}

}  // namespace

TEST_CASE("dynamic NTK gives its owners' numbers within the context and beyond it, from both configurations",
          "[model][short]") {
    const std::string model = "llama-dynamic-ntk";
    test::check_against_reference(model, model_folder(model));
    const TemporaryFolder folder;
    std::filesystem::create_symlink(model_folder(model) + "/model.safetensors", folder.file("model.safetensors"));
    folder.write("config.json", test::read_file(model_folder(model) + "/config_hub.json"));
    test::check_against_reference(model, folder.path());
    test::check_one_answer(model, model_folder(model));
}

TEST_CASE(
    "LongRoPE with one set of factors gives what transformers computes, whose Phi-MoE changes the magnitude alone",
    "[model][short]") {
    HubCheckpoint model(model_folder("phimoe-longrope"));
    model.config["rope_parameters"]["long_factor"] = model.config["rope_parameters"]["short_factor"];
    const TemporaryFolder folder;
    const test::Tensors reference("models/phimoe-longrope/reference.safetensors");
    const std::vector<std::byte> bytes = reference.bytes("long.input_ids");
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < bytes.size(); i += 8) tokens.push_back(std::to_integer<TokenId>(bytes[i]));
    const std::vector<float> logits = test::feed(test::load_core(model.write(folder)), tokens, {}).logits,
                             expected = reference.floats("long.short_factors.logits");
    REQUIRE(logits.size() == expected.size());
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        difference = std::max(difference, std::abs(static_cast<double>(logits[i]) - expected[i]));
        largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    CHECK(difference / largest < 2e-5);
}

TEST_CASE("LongRoPE gives the same bits from GGUF as from a configuration with GGUF's one magnitude",
          "[model][short]") {
    HubCheckpoint model(model_folder("phimoe-longrope"));
    auto& rope = model.config["rope_parameters"];
    // What llama.cpp's converter writes: √(1 + ln(256 / 64) / ln 64).
    rope["short_mscale"] = rope["long_mscale"] = std::sqrt(1.0 + std::log(4.0) / std::log(64.0));
    const TemporaryFolder folder;
    test::GgufFile file = test::gguf_of_model(model.write(folder));
    const std::string plain = folder.write("plain.gguf", file.bytes());
    file.add("phimoe.rope.scaling.type", std::string("longrope"));
    const std::string typed = folder.write("typed.gguf", file.bytes());
    for (const std::size_t length : {24, 80}) {
        const auto logits = [&](const std::string& path) {
            return test::feed(test::load_core(path), some_tokens(length), {}).logits;
        };
        const std::vector<float> expected = logits(folder.path());
        CHECK(is_same(logits(plain), expected));
        CHECK(is_same(logits(typed), expected));
    }
}

TEST_CASE("a sequence rotates by the limit it was admitted with and not by its length", "[model][short]") {
    for (const std::string name : {"phimoe-longrope", "llama-dynamic-ntk"}) {
        INFO(name);
        const auto model = Model::open(model_folder(name), {.thread_count = 1});
        REQUIRE(model);
        const std::vector<float> usual = logits_at_limit(*model, 64), longer = logits_at_limit(*model, 65);
        CHECK(is_same(logits_at_limit(*model, 24), usual));
        CHECK_FALSE(is_same(longer, usual));
        CHECK(is_same(logits_at_limit(*model, 65, 7), longer));
        // LongRoPE has one other set; dynamic NTK goes on with the limit.
        CHECK(is_same(logits_at_limit(*model, 4096), longer) == (name == "phimoe-longrope"));
        // Nobody declared a limit: the model's own context, 256 and 64 tokens.
        CHECK(is_same(logits_at_limit(*model, 0), name == "phimoe-longrope" ? longer : usual));

        auto batch = Batch::create(*model, {.thread_count = 1, .context_tokens = 65, .cache_dtype = DType::f32}, 2);
        REQUIRE(batch);
        std::vector<float> logits(2 * 160);
        for (const TokenId token : some_tokens(24))
            REQUIRE(batch->step(std::vector<TokenId>{token, token}, logits).is_ok());
        CHECK(is_same({logits.begin(), logits.begin() + 160}, longer));
        CHECK(is_same({logits.begin() + 160, logits.end()}, longer));
    }
}

TEST_CASE("every model without a scaling by length gives the same bits at any limit", "[model][short]") {
    for (const std::string name : {"llama3-rope", "deepseek-v2-lite", "gpt-oss"}) {
        const auto model = Model::open(model_folder(name), {.thread_count = 1});
        REQUIRE(model);
        CHECK(is_same(logits_at_limit(*model, 24), logits_at_limit(*model, 100'000)));
    }
}
