// Weights that become something else on the way into memory.
#include <mixtura/generation.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "kernels/quant/decode.hpp"
#include "kernels/quant/encode.hpp"
#include "support/files.hpp"
#include "support/generations.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/tensors.hpp"
#include "weights/weight_job.hpp"

using namespace mixtura;

namespace {

WeightMix mix_of(std::string_view text) {
    auto mix = parse_weight_mix(text);
    INFO(mix.status().message());
    REQUIRE(mix);
    return *std::move(mix);
}

std::string refusal_of(std::string_view text) { return std::string(parse_weight_mix(text).status().message()); }

Model open_at(const std::string& path, std::string_view mix, int threads) {
    ModelOptions options;
    options.thread_count = threads;
    options.weights = mix_of(mix);
    return test::open_model(path, options);
}

Model open(const std::string& name, std::string_view mix, int threads = 2) {
    return open_at(test::golden("models/" + name), mix, threads);
}

std::vector<float> logits_of(const Model& model) {
    auto generation = Generation::create(model, {.thread_count = 1, .context_tokens = 16, .cache_dtype = DType::f32});
    REQUIRE(generation);
    REQUIRE(generation->feed(std::vector<TokenId>{3, 1, 4, 1, 5}).is_ok());
    return {generation->logits().begin(), generation->logits().end()};
}

const WeightError& error_of(const Model& model, std::string_view role) {
    const auto found = std::find_if(model.weight_errors().begin(), model.weight_errors().end(),
                                    [role](const WeightError& error) { return error.role == role; });
    REQUIRE(found != model.weight_errors().end());
    return *found;
}

}  // namespace

TEST_CASE("a later rule of a mix goes before an earlier one", "[model][short]") {
    const Model model = open("qwen3-moe", "q8_0,experts=q4_0,experts.up=keep,attention.query=bf16");
    CHECK(error_of(model, "layers.1.experts.3.gate.weight").to == DType::q4_0);
    CHECK(error_of(model, "layers.1.experts.3.down.weight").to == DType::q4_0);
    CHECK(error_of(model, "layers.2.attention.key.weight").to == DType::q8_0);
    CHECK(error_of(model, "head.weight").to == DType::q8_0);
    for (const WeightError& error : model.weight_errors()) {
        CHECK(error.from == DType::bf16);
        CHECK(error.kind != "experts.up");
        CHECK(error.kind != "attention.query");  // bf16 in the file
        CHECK(error.role.find("router") == std::string::npos);
        CHECK(error.role.find("embedding") == std::string::npos);
    }
}

TEST_CASE("what was lost is what the format's encoder loses", "[model][short]") {
    const Model model = open("qwen3-moe", "experts.down=q4_0");
    CHECK(model.weight_errors().size() == 3 * 16);
    const test::Tensors file("models/qwen3-moe/model.safetensors");
    const std::vector<std::byte> stored = file.bytes("model.layers.1.mlp.experts.2.down_proj.weight");
    std::vector<float> values(stored.size() / 2);
    decoder(DType::bf16)(stored.data(), values.data(), values.size());
    std::vector<std::byte> codes(values.size() / 32 * 18);
    encoder(DType::q4_0)(values.data(), codes.data(), values.size() / 32);
    std::vector<float> back(values.size());
    decoder(DType::q4_0)(codes.data(), back.data(), values.size() / 32);
    double error_sum = 0, square_sum = 0, largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference = static_cast<double>(values[i]) - static_cast<double>(back[i]);
        error_sum += difference * difference;
        square_sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        largest = std::max(largest, std::abs(difference));
    }
    const WeightError& error = error_of(model, "layers.1.experts.2.down.weight");
    CHECK(error.parameter_count == values.size());
    CHECK(error.error_sum == error_sum);
    CHECK(error.square_sum == square_sum);
    CHECK(error.largest == largest);
    CHECK(error_sum > 0);
}

TEST_CASE("a quantised model answers the same on any number of threads, and takes the memory that was told",
          "[model][short]") {
    for (const std::string name : {"qwen3-moe", "deepseek-v3", "gpt2", "hybrid-120", "dbrx"}) {
        INFO(name);
        const Model one = open(name, "mixed", 1), two = open(name, "mixed", 2), kept = open(name, "keep");
        const std::vector<float> a = logits_of(one), b = logits_of(two), c = logits_of(kept);
        CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
        CHECK(std::memcmp(a.data(), c.data(), a.size() * sizeof(float)) != 0);
        CHECK(kept.weight_errors().empty());
        REQUIRE(one.weight_errors().size() == two.weight_errors().size());
        for (std::size_t i = 0; i < one.weight_errors().size(); ++i)
            CHECK(one.weight_errors()[i].error_sum == two.weight_errors()[i].error_sum);
        const auto forecast = Model::forecast(test::golden("models/" + name), 0, DType::f16, mix_of("mixed"));
        REQUIRE(forecast);
        CHECK(forecast->weight_bytes == one.weight_bytes());
        CHECK(one.weight_bytes() < kept.weight_bytes());
    }
}

TEST_CASE("weights become whatever has an encoder, and what is read back is what was told", "[model][short]") {
    const std::string path = test::golden("models/qwen3-moe");
    const std::vector<float> exact = logits_of(open("qwen3-moe", "keep"));
    for (const std::string name : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4", "int4_32", "int4_64",
                                   "int4_128", "nf4", "f8_e4m3_32", "f8_e4m3_128", "q5_k"}) {
        INFO(name);
        const Model model = open("qwen3-moe", name);
        const auto forecast = Model::forecast(path, 0, DType::f16, mix_of(name));
        REQUIRE(forecast);
        CHECK(forecast->weight_bytes == model.weight_bytes());
        REQUIRE(!model.weight_errors().empty());
        for (const WeightError& error : model.weight_errors()) {
            const auto to = [&](std::int64_t columns) {
                return settled_target(dtype_from_name(name), DType::bf16, columns);
            };
            CHECK((error.to == to(32) || error.to == to(64) || error.to == to(128)));  // all the columns it has
            CHECK(error.error_sum < 0.02 * error.square_sum);  // of random weights, mxfp4 loses most: 0.013
        }
        const std::vector<float> logits = logits_of(model);
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            difference += std::pow(static_cast<double>(logits[i]) - static_cast<double>(exact[i]), 2);
            size += std::pow(static_cast<double>(exact[i]), 2);
        }
        CHECK(difference > 0);
        CHECK(difference < 0.1 * size);
    }
}

TEST_CASE("formats give way to what the columns allow, and never to more bits", "[model][short]") {
    CHECK(settled_target(DType::q4_k, DType::bf16, 512) == DType::q4_k);
    CHECK(settled_target(DType::q4_k, DType::bf16, 96) == DType::q5_0);
    CHECK(settled_target(DType::q6_k, DType::f32, 96) == DType::q8_0);
    CHECK(settled_target(DType::q5_k, DType::f32, 96) == DType::q5_1);
    CHECK(settled_target(DType::int4_128, DType::bf16, 192) == DType::int4_64);
    CHECK(settled_target(DType::int4_128, DType::bf16, 96) == DType::int4_32);
    CHECK(settled_target(DType::nf4, DType::bf16, 96) == DType::q5_0);
    CHECK(settled_target(DType::f8_e4m3_128, DType::bf16, 96) == DType::f8_e4m3_32);
    CHECK(settled_target(DType::f8_e4m3_128, DType::bf16, 256) == DType::f8_e4m3_128);
    CHECK(settled_target(DType::q8_0, DType::bf16, 40) == DType::bf16);
    CHECK(settled_target(DType::f16, DType::bf16, 64) == DType::bf16);
    CHECK(settled_target(DType::bf16, DType::f32, 64) == DType::bf16);
    CHECK(settled_target(DType::q4_0, DType::q8_0, 64) == DType::q8_0);
    CHECK(settled_target(DType::unknown, DType::f16, 64) == DType::f16);
}

TEST_CASE("a tied head and its token embedding are one matrix in any mix", "[model][short]") {
    test::HubCheckpoint files(test::golden("models/qwen2"));
    files.tensors.erase("lm_head.weight");
    files.config["tie_word_embeddings"] = true;
    const test::TemporaryFolder folder;
    const std::string path = files.write(folder);
    const Model kept = open_at(path, "keep", 1), smaller = open_at(path, "head=q8_0", 1);
    REQUIRE(smaller.weight_errors().size() == 1);
    CHECK(smaller.weight_errors()[0].role == "head.weight");
    const std::uint64_t parameters = smaller.weight_errors()[0].parameter_count;
    CHECK(kept.weight_bytes() - smaller.weight_bytes() == parameters * 2 - parameters / 32 * 34);
    CHECK(logits_of(kept) != logits_of(smaller));
}

TEST_CASE("a mix that names what there is not is refused", "[model][short]") {
    CHECK(parse_weight_mix("keep")->keeps_all());
    CHECK(parse_weight_mix("experts=keep")->keeps_all());
    CHECK(refusal_of("router=q8_0") == "the weights of a router stay as the file has them, but are given q8_0");
    CHECK(refusal_of("experts.middle=q8_0").find("'experts.middle' is no role of weights, expected all, experts") == 0);
    CHECK(refusal_of("all=q9_9").find("'q9_9' is no element type for 'all', expected keep, f16") == 0);
    CHECK(refusal_of("all=f32").find("weights cannot become f32, expected keep, f16") == 0);
    CHECK(refusal_of("all=iq1_s").find("weights cannot become iq1_s") == 0);
    CHECK(refusal_of("").find("'' is no mix of weights, expected mixed, keep") == 0);
    CHECK(refusal_of("q8_0,").find("'' is no mix of weights") == 0);
    ModelOptions options;
    options.weights.rules = {{"router", DType::q8_0}};
    const auto model = Model::open(test::golden("models/qwen3-moe"), options);
    CHECK(model.status().code() == StatusCode::invalid_argument);
}
