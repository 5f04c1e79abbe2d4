#include <mixtura/generation.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <clocale>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/files.hpp"
#include "support/generations.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

Generation create(const Model& model,
                  const GenerationOptions& options = {.thread_count = 2, .cache_dtype = DType::f32}) {
    return test::make_generation(model, options);
}

std::vector<TokenId> first_row(const std::string& name) {
    const test::Tensors reference("models/" + name + "/reference.safetensors");
    const std::vector<std::byte> bytes = reference.bytes("input_ids");
    std::vector<std::int64_t> ids(24);
    std::memcpy(ids.data(), bytes.data(), 24 * sizeof(std::int64_t));
    return {ids.begin(), ids.end()};
}

GenerationRequest greedy(std::vector<TokenId> prompt, std::int64_t tokens) {
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0.0F;
    request.stop.tokens = std::vector<TokenId>{};
    request.stop.max_tokens = tokens;
    return request;
}

// A copy of a golden model with one element of a bf16 tensor replaced by `bits`.
std::string with_damage(const test::TemporaryFolder& folder, const std::string& name, const std::string& tensor,
                        std::size_t element, std::uint16_t bits) {
    const std::string source = test::golden("models/" + name);
    const auto checkpoint = Checkpoint::open(source);
    REQUIRE(checkpoint);
    const TensorInfo* info = checkpoint->find(tensor);
    REQUIRE(info != nullptr);
    std::string content = test::read_file(source + "/model.safetensors");
    std::memcpy(content.data() + info->offset_bytes + element * 2, &bits, sizeof bits);
    folder.write("model.safetensors", content);
    folder.write("config.json", test::read_file(source + "/config.json"));
    return folder.path();
}

constexpr std::uint16_t kNaN = 0x7FC0, kInfinity = 0x7F80;

}  // namespace

TEST_CASE("greedy generation continues as the owners' code does, twice the same, the second time from the cache",
          "[engine][short]") {
    const Model model = test::open_model(test::golden("models/qwen3"));
    Generation generation = create(model);
    const auto facts = nlohmann::json::parse(test::read_file(test::golden("models/qwen3/reference.json")));
    const std::vector<TokenId> expected = facts.at("greedy_row0");
    const auto request = greedy(first_row("qwen3"), static_cast<std::int64_t>(expected.size()));
    const auto first = generation.generate(request);
    REQUIRE(first);
    CHECK(first->tokens == expected);
    CHECK(first->reason == FinishReason::max_tokens);
    CHECK(first->reused_tokens == 0);
    const auto second = generation.generate(request);
    REQUIRE(second);
    CHECK(second->tokens == expected);
    CHECK(second->reused_tokens == 23);  // all but the last token of the prompt, whose logits are needed
}

TEST_CASE("logits are the same bits with and without a beginning from the cache", "[engine][short]") {
    const Model model = test::open_model(test::golden("models/llama"));
    const std::vector<TokenId> tokens = first_row("llama");
    Generation fresh = create(model);
    REQUIRE(fresh.feed(tokens).is_ok());
    Generation used = create(model);
    REQUIRE(used.feed(std::span(tokens).first(17)).is_ok());
    REQUIRE(used.feed(std::vector<TokenId>{1, 2, 3}).is_ok());
    REQUIRE(used.truncate(9).is_ok());
    CHECK(used.logits().empty());
    REQUIRE(used.feed(std::span(tokens).subspan(9)).is_ok());
    REQUIRE(fresh.logits().size() == 160);
    CHECK(test::first_difference(fresh.logits(), used.logits()) == 160);
    CHECK(std::equal(used.tokens().begin(), used.tokens().end(), tokens.begin(), tokens.end()));
}

TEST_CASE("a request's draws hang on its seed, its position and its completion alone", "[engine][short]") {
    const Model model = test::open_model(test::golden("models/llama"));
    GenerationRequest request = greedy(first_row("llama"), 12);
    request.sampling.temperature = 1.5F;
    request.sampling.seed = 7;
    Generation generation = create(model);
    const auto first = generation.generate(request);
    REQUIRE(first);
    // Others in between, another number of threads, another step: the same answer.
    GenerationRequest other = request;
    other.sampling.seed = 8;
    const auto with_other_seed = generation.generate(other);
    REQUIRE(with_other_seed);
    Generation elsewhere = create(model, {.thread_count = 3, .cache_dtype = DType::f32, .step_tokens = 5});
    const auto again = elsewhere.generate(request);
    REQUIRE(again);
    CHECK(again->tokens == first->tokens);
    CHECK(with_other_seed->tokens != first->tokens);
    request.sampling.completion = 1;
    const auto second_completion = generation.generate(request);
    REQUIRE(second_completion);
    CHECK(second_completion->tokens != first->tokens);
}

TEST_CASE("a full context, a callback and cancel() each end an answer with their own reason", "[engine][short]") {
    const Model model = test::open_model(test::golden("models/llama"));
    Generation small = create(model, {.thread_count = 1, .context_tokens = 30, .cache_dtype = DType::f32});
    const auto full = small.generate(greedy(first_row("llama"), 100));
    REQUIRE(full);
    CHECK(full->reason == FinishReason::context_full);
    CHECK(full->tokens.size() == 7);  // six fill the context, the seventh comes from its last position

    Generation generation = create(model);
    GenerationRequest stopped = greedy(first_row("llama"), 100);
    int count = 0;
    stopped.on_piece = [&](const Piece&) { return ++count == 3 ? Flow::stop : Flow::go_on; };
    const auto by_callback = generation.generate(stopped);
    REQUIRE(by_callback);
    CHECK(by_callback->reason == FinishReason::callback);
    CHECK(by_callback->tokens.size() == 3);

    stopped.on_piece = [&](const Piece&) {
        std::thread([&] { generation.cancel(); }).join();
        return Flow::go_on;
    };
    const auto cancelled = generation.generate(stopped);
    REQUIRE(cancelled);
    CHECK(cancelled->reason == FinishReason::cancelled);
    CHECK(cancelled->tokens.size() == 1);
}

TEST_CASE("what cannot be computed is refused in a sentence, and the sequence stays as it was", "[engine][short]") {
    const Model model = test::open_model(test::golden("models/gpt2"));
    Generation generation = create(model);
    REQUIRE(generation.feed(std::vector<TokenId>{1, 2, 3}).is_ok());
    const std::vector<float> before(generation.logits().begin(), generation.logits().end());
    const Status outside = generation.feed(std::vector<TokenId>{5, 160});
    CHECK(outside.code() == StatusCode::invalid_argument);
    CHECK(outside.message() == "token 160 is not in the vocabulary, expected 0 to 159");
    const Status beyond = generation.feed(std::vector<TokenId>(300, 1));
    CHECK(beyond.code() == StatusCode::out_of_range);
    CHECK(beyond.message() == "303 tokens are more than the context of 256 holds");
    CHECK(generation.tokens().size() == 3);
    CHECK(test::first_difference(generation.logits(), before) == before.size());
    CHECK(generation.truncate(4).code() == StatusCode::out_of_range);
    CHECK(generation.generate({}).status().code() == StatusCode::invalid_argument);
    CHECK(Generation::create(model, {.context_tokens = 257}).status().code() == StatusCode::out_of_range);
    CHECK(Generation::create(model, {.cache_dtype = DType::q4_0}).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("numbers that stop being finite fail the request with layer and position named, and no other",
          "[engine][short]") {
    struct Case {
        const char* tensor;
        std::size_t element;
        std::uint16_t bits;
        const char* where;
    };
    const Case cases[] = {
        {"model.layers.1.mlp.up_proj.weight", 5, kNaN, "the numbers stopped being finite in layer 1 at position 0"},
        {"model.layers.2.self_attn.v_proj.weight", 0, kInfinity,
         "the numbers stopped being finite in layer 2 at position 0"},
        {"lm_head.weight", 64 * 7, kNaN, "the numbers stopped being finite in the logits at position 2"},
        {"model.embed_tokens.weight", 64 * 9, kNaN, "the numbers stopped being finite in the embedding at position 1"},
    };
    for (const Case& damage : cases) {
        const test::TemporaryFolder folder;
        const Model model = test::open_model(with_damage(folder, "llama", damage.tensor, damage.element, damage.bits));
        Generation generation = create(model);
        const Status status = generation.feed(std::vector<TokenId>{8, 9, 10});
        CHECK(status.code() == StatusCode::internal);
        CHECK(std::string(status.message()).rfind(damage.where, 0) == 0);
        CHECK(generation.tokens().empty());
    }
    // Token 9's embedding is damaged: a sequence without it is whole, before and after one that has it.
    const test::TemporaryFolder folder;
    const Model damaged = test::open_model(with_damage(folder, "llama", "model.embed_tokens.weight", 64 * 9, kNaN));
    const Model whole = test::open_model(test::golden("models/llama"));
    Generation a = create(damaged), b = create(whole);
    REQUIRE(a.feed(std::vector<TokenId>{1, 2}).is_ok());
    CHECK_FALSE(a.feed(std::vector<TokenId>{9}).is_ok());
    REQUIRE(a.feed(std::vector<TokenId>{3}).is_ok());
    REQUIRE(b.feed(std::vector<TokenId>{1, 2, 3}).is_ok());
    CHECK(test::first_difference(a.logits(), b.logits()) == 160);
}

TEST_CASE("the host's locale changes no logit", "[engine][short]") {
    const std::string before = std::setlocale(LC_ALL, nullptr);
    const std::vector<TokenId> tokens = first_row("llama3-rope");
    Generation usual = create(test::open_model(test::golden("models/llama3-rope")));
    REQUIRE(usual.feed(tokens).is_ok());
    for (const char* name : {"C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"}) {
        if (std::setlocale(LC_ALL, name) == nullptr) continue;  // C.UTF-8 is everywhere, the others where installed
        Generation abroad = create(test::open_model(test::golden("models/llama3-rope")));
        REQUIRE(abroad.feed(tokens).is_ok());
        CHECK(test::first_difference(usual.logits(), abroad.logits()) == 160);
    }
    std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("loading shows its progress and can be cancelled", "[engine][short]") {
    std::vector<std::uint64_t> steps;
    ModelOptions options;
    options.on_progress = [&](std::uint64_t done, std::uint64_t total) {
        CHECK(done <= total);
        steps.push_back(done);
        return Flow::go_on;
    };
    REQUIRE(Model::open(test::golden("models/llama"), options));
    REQUIRE(steps.size() >= 2);
    CHECK(steps.front() == 0);
    CHECK(std::is_sorted(steps.begin(), steps.end()));
    options.on_progress = [](std::uint64_t, std::uint64_t) { return Flow::stop; };
    CHECK(Model::open(test::golden("models/llama"), options).status().code() == StatusCode::cancelled);
}

TEST_CASE("an unknown family, and a value that changes numbers, are refused by name", "[engine][short]") {
    const std::string config = test::read_file(test::golden("models/llama/config.json"));
    const auto opened_with = [&](const std::string& from, const std::string& to) {
        const test::TemporaryFolder folder;
        std::string changed = config;
        const std::size_t at = changed.find(from);
        REQUIRE(at != std::string::npos);
        changed.replace(at, from.size(), to);
        folder.write("config.json", changed);
        folder.write("model.safetensors", test::read_file(test::golden("models/llama/model.safetensors")));
        return Model::open(folder.path()).status();
    };
    const Status family = opened_with("\"model_type\": \"llama\"", "\"model_type\": \"gorilla\"");
    CHECK(family.code() == StatusCode::unknown_architecture);
    CHECK(std::string(family.message()).find("'gorilla'") != std::string::npos);
    const Status activation = opened_with("\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"");
    CHECK(activation.code() == StatusCode::unsupported);
    CHECK(activation.message() == "the configuration's 'hidden_act' is '\"relu\"', expected \"silu\" for llama");
    const Status scaling = opened_with("\"rope_type\": \"default\"", "\"rope_type\": \"spiral\"");
    CHECK(scaling.code() == StatusCode::unsupported);
    CHECK(std::string(scaling.message()).find("'spiral'") != std::string::npos);
    const Status heads = opened_with("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3");
    CHECK(heads.code() == StatusCode::corrupt_file);
    const Status width = opened_with("\"intermediate_size\": 128", "\"intermediate_size\": 127");
    CHECK(width.code() == StatusCode::corrupt_file);
    CHECK(std::string(width.message()).find("gate_proj") != std::string::npos);
}

TEST_CASE("keys and values take what the forecast says, to the byte, in every type of cache", "[engine][short]") {
    const std::string path = test::golden("models/llama");
    const Model model = test::open_model(path);
    for (const auto& [name, dtypes] : cache_choices()) {
        INFO(name);
        const auto forecast = Model::forecast(path, 500, dtypes);
        REQUIRE(forecast);
        Generation generation = create(model, {.thread_count = 1, .context_tokens = 500, .cache_dtype = dtypes});
        REQUIRE(generation.feed(std::vector<TokenId>(500, 5)).is_ok());
        CHECK(generation.cache_bytes() == forecast->cache_bytes);
        CHECK(cache_dtypes_name(dtypes) == name);
        CHECK(cache_dtypes_from_name(name) == dtypes);
    }
    CHECK_FALSE(cache_dtypes_from_name("q8_0"));
}

TEST_CASE("pairs of types that no model or not this one keeps are refused", "[engine][short]") {
    const auto refused = [](const char* path, CacheDTypes dtypes) {
        const Model model = test::open_model(test::golden(path));
        const Status made = Generation::create(model, {.cache_dtype = dtypes}).status();
        CHECK(made.code() == StatusCode::invalid_argument);
        CHECK(Model::forecast(test::golden(path), 0, dtypes).status().message() == made.message());
        return std::string(made.message());
    };
    CHECK(refused("models/llama", {DType::q8_0, DType::f16}) ==
          "cache_dtype is q8_0+f16, expected f32, f16, bf16, f16+q8, bf16+q8, f16+f8, bf16+f8, q8 or f8");
    CHECK(refused("models/llama", {DType::f16, DType::f32}) ==
          "cache_dtype is f16+f32, expected f32, f16, bf16, f16+q8, bf16+q8, f16+f8, bf16+f8, q8 or f8");
    CHECK(
        refused("models/deepseek-v2", {DType::f16, DType::f8_e4m3}) ==
        "cache_dtype is f16+f8, but deepseek_v2 keeps rows that are keys and values at once, expected f32, f16, bf16, "
        "q8 or f8");
}

TEST_CASE("a forecast from the headers is what opening takes", "[engine][short]") {
    for (const char* path : {"models/llama", "models/gpt2", "gguf/qwen3.gguf", "gguf/bloom-alibi.gguf"}) {
        const auto forecast = Model::forecast(test::golden(path));
        REQUIRE(forecast);
        CHECK(forecast->weight_bytes == test::open_model(test::golden(path)).weight_bytes());
        CHECK(forecast->cache_bytes > 0);
    }
}
