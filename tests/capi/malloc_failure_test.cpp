// Load and generate with every single allocation failing in turn, and with all of them failing from each on: the
// process survives, the call reports, nothing leaks, out-parameters stay as they were.
#include <cstring>

#include "capi/failing_malloc.hpp"
#include "capi/support.hpp"

namespace mixtura::capi_test {
namespace {

// One go at everything a host does with `path`.  True where all of it worked.  `is_chat`: with tokenizer and template.
bool go(const std::string& path, bool is_chat, std::string& answer_text) {
    auto* const untouched_model = reinterpret_cast<mixtura_model*>(0x10);
    mixtura_model* opened = untouched_model;
    mixtura_model_options model_options = MIXTURA_MODEL_OPTIONS_INIT;
    model_options.thread_count = 1;
    mixtura_status status = mixtura_model_open(path.c_str(), &model_options, &opened);
    if (status != MIXTURA_OK) {
        if (opened != untouched_model || status > 0) std::abort();
        return false;
    }
    const Model model(opened);
    mixtura_generation_options generation_options = MIXTURA_GENERATION_OPTIONS_INIT;
    generation_options.thread_count = 1;
    generation_options.context_tokens = 64;
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.tokens_max = 3;
    mixtura_answer answer = MIXTURA_ANSWER_INIT;
    if (is_chat) {
        mixtura_chat_options options = MIXTURA_CHAT_OPTIONS_INIT;
        options.generation = &generation_options;
        options.request = &request;
        mixtura_chat* made = nullptr;
        status = mixtura_chat_create(opened, &options, &made);
        const Chat chat(made);
        if (status != MIXTURA_OK) return made == nullptr ? false : (std::abort(), false);
        if (mixtura_chat_add(made, "user", "Hi", 2) != MIXTURA_OK) return false;
        const std::size_t before = mixtura_chat_message_count(made);
        if (mixtura_chat_reply(made, nullptr, nullptr, &answer) != MIXTURA_OK) {
            if (answer.utf8 != nullptr || mixtura_chat_message_count(made) != before) std::abort();
            return false;
        }
        answer_text.assign(answer.utf8, answer.bytes);
        return true;
    }
    mixtura_generation* made = nullptr;
    status = mixtura_generation_create(opened, &generation_options, &made);
    const Generation generation(made);
    if (status != MIXTURA_OK) return made == nullptr ? false : (std::abort(), false);
    static const std::int32_t prompt[] = {3, 1, 4, 1, 5}, none = 0;
    request.prompt = prompt;
    request.prompt_count = 5;
    request.stop_tokens = &none;
    if (mixtura_generation_run(made, &request, &answer) != MIXTURA_OK) {
        if (answer.tokens != nullptr) std::abort();
        return false;
    }
    answer_text.assign(reinterpret_cast<const char*>(answer.tokens), answer.token_count * sizeof(std::int32_t));
    return true;
}

// The objects that are usable alone, each made and used once; stops at the first that fails.
bool go_alone(std::string& answer_text) {
    static const std::string model = tiny_model(), vocabulary = golden("tokenizers/bpe-qwen2");
    std::uint64_t sum = 0;
    const auto add = [&](const void* values, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) sum = sum * 31 + static_cast<const unsigned char*>(values)[i];
    };
    mixtura_checkpoint* checkpoint = nullptr;
    if (mixtura_checkpoint_open(model.c_str(), &checkpoint) != MIXTURA_OK) return false;
    const Checkpoint owned_checkpoint(checkpoint);
    char text[512];
    std::size_t needed = 0;
    if (mixtura_checkpoint_tensor_name(checkpoint, 5, text, sizeof text, &needed) != MIXTURA_OK) return false;
    add(text, needed);
    mixtura_memory_forecast forecast = MIXTURA_MEMORY_FORECAST_INIT;
    if (mixtura_model_forecast(model.c_str(), 0, 0, &forecast) != MIXTURA_OK) return false;
    add(&forecast, sizeof forecast);
    mixtura_forecast_options forecast_options = MIXTURA_FORECAST_OPTIONS_INIT;
    forecast_options.weights = "mixed";
    if (mixtura_model_forecast_with(model.c_str(), &forecast_options, &forecast) != MIXTURA_OK) return false;
    add(&forecast, sizeof forecast);

    mixtura_tokenizer* tokenizer = nullptr;
    if (mixtura_tokenizer_open(vocabulary.c_str(), &tokenizer) != MIXTURA_OK) return false;
    const Tokenizer owned_tokenizer(tokenizer);
    std::int32_t tokens[64];
    if (mixtura_tokenizer_encode(tokenizer, "It's 12 o'clock", 15, nullptr, tokens, 64, &needed) != MIXTURA_OK)
        return false;
    add(tokens, needed * sizeof tokens[0]);
    mixtura_stream_decoder* decoder = nullptr;
    if (mixtura_stream_decoder_create(tokenizer, 1, &decoder) != MIXTURA_OK) return false;
    const Decoder owned_decoder(decoder);
    mixtura_text piece = {nullptr, 0};
    for (std::size_t i = 0; i < needed; ++i) {
        if (mixtura_stream_decoder_push(decoder, tokens[i], &piece) != MIXTURA_OK) return false;
        add(piece.utf8, piece.bytes);
    }
    static const char source[] = "{% for m in messages %}[{{ m.role | upper }}]{{ m.content }}{% endfor %}";
    static const char json[] = R"({"messages": [{"role": "user", "content": "hi"}]})";
    mixtura_template* layout = nullptr;
    if (mixtura_template_parse(source, sizeof source - 1, &layout) != MIXTURA_OK) return false;
    const Template owned_layout(layout);
    mixtura_prompt* prompt = nullptr;
    if (mixtura_template_render(layout, json, sizeof json - 1, nullptr, &prompt) != MIXTURA_OK) return false;
    const Prompt owned_prompt(prompt);
    if (mixtura_prompt_text(prompt, text, sizeof text, &needed) != MIXTURA_OK) return false;
    add(text, needed);

    static const std::vector<float> numbers(4 * 32 * 32, 0.25F);
    mixtura_sampling_options sampling = MIXTURA_SAMPLING_OPTIONS_INIT;
    sampling.top_p = 0.9F;
    sampling.logprobs = 4;
    sampling.repetition_penalty = 1.5F;
    mixtura_sampler* sampler = nullptr;
    if (mixtura_sampler_create(32, &sampling, &sampler) != MIXTURA_OK) return false;
    const Sampler owned_sampler(sampler);
    mixtura_sampled sampled = MIXTURA_SAMPLED_INIT;
    const std::int32_t history[] = {1, 2, 3};
    if (mixtura_sampler_sample(sampler, numbers.data(), 32, history, 3, 2, &sampled) != MIXTURA_OK) {
        if (sampled.token != MIXTURA_NO_TOKEN) std::abort();
        return false;
    }
    add(&sampled.token, sizeof sampled.token);

    const mixtura_tensor gate = {numbers.data(), MIXTURA_DTYPE_F32, 2, {4, 32, 0, 0}, {0, 0, 0, 0}};
    mixtura_router_spec router_spec = MIXTURA_ROUTER_SPEC_INIT;
    router_spec.hidden_size = 32;
    router_spec.expert_count = 4;
    router_spec.gate = &gate;
    mixtura_router* router = nullptr;
    if (mixtura_router_create(&router_spec, &router) != MIXTURA_OK) return false;
    const Router owned_router(router);
    mixtura_route_plan* plan = nullptr;
    if (mixtura_route_plan_create(&plan) != MIXTURA_OK) return false;
    const Plan owned_plan(plan);
    if (mixtura_router_route(router, numbers.data(), 8, nullptr, nullptr, plan) != MIXTURA_OK) return false;
    // With strides, so that a copy is made.
    const mixtura_tensor matrices = {numbers.data(), MIXTURA_DTYPE_F32, 3, {4, 32, 32, 0}, {4096, 4, 128, 0}};
    mixtura_expert_spec expert_spec = MIXTURA_EXPERT_SPEC_INIT;
    expert_spec.hidden_size = expert_spec.width = 32;
    expert_spec.expert_count = 4;
    expert_spec.tensor_count = 1;
    expert_spec.gate = expert_spec.up = expert_spec.down = &matrices;
    expert_spec.thread_count = 2;
    mixtura_expert_pool* pool = nullptr;
    if (mixtura_expert_pool_create(&expert_spec, &pool) != MIXTURA_OK) return false;
    const Pool owned_pool(pool);
    float output[8 * 32];
    if (mixtura_expert_pool_run(pool, numbers.data(), 8, plan, output) != MIXTURA_OK) return false;
    add(output, sizeof output);

    const SmallCache small(2, 16, MIXTURA_DTYPE_F16);
    mixtura_kv_cache* cache = nullptr;
    if (mixtura_kv_cache_create(&small.options, &cache) != MIXTURA_OK) return false;
    const Cache owned_cache(cache);
    mixtura_sequence sequence = 0, fork = 0;
    std::int64_t first = 0;
    static char bytes[1 << 16];
    if (mixtura_kv_cache_create_sequence(cache, &sequence) != MIXTURA_OK ||
        mixtura_kv_cache_append(cache, sequence, 40, &first) != MIXTURA_OK ||
        mixtura_kv_cache_write(cache, sequence, 0, 0, 0, 40, numbers.data()) != MIXTURA_OK ||
        mixtura_kv_cache_fork(cache, sequence, &fork) != MIXTURA_OK ||
        mixtura_kv_cache_append(cache, fork, 3, &first) != MIXTURA_OK ||
        mixtura_kv_cache_export(cache, fork, bytes, sizeof bytes, &needed) != MIXTURA_OK ||
        mixtura_kv_cache_import(cache, bytes, needed, &sequence) != MIXTURA_OK)
        return false;
    add(bytes, needed);
    answer_text.assign(reinterpret_cast<const char*>(&sum), sizeof sum);
    return true;
}

struct Sweep {
    std::int64_t allocations = 0, failures = 0, survived = 0, leaks = 0, wrong = 0;
    std::int64_t first_leak = 0, first_wrong = 0;
};

// Fails allocation 1, 1 + step, … of one go each.
template <class Go>
Sweep sweep(const Go& go, std::int64_t step, Failing how) {
    std::string expected, answer;
    expected.reserve(4096);  // so that the test's own texts are no allocation of the go
    answer.reserve(4096);
    for (int warm = 0; warm < 2; ++warm) REQUIRE(go(expected));
    // A failure once, so that this thread's place for its last message is there before blocks are counted.
    CHECK(mixtura_model_open(nullptr, nullptr, nullptr) == MIXTURA_INVALID_ARGUMENT);
    Sweep result;
    fail_allocation(0, how);
    const std::int64_t held = blocks_held();
    REQUIRE(go(answer));
    result.allocations = allocations_counted();
    const std::int64_t usual = blocks_held() - held;
    for (std::int64_t n = 1; n <= result.allocations; n += step) {
        const std::int64_t before = blocks_held();
        answer.clear();
        fail_allocation(n, how);
        const bool worked = go(answer);
        fail_allocation(0, how);
        ++(worked ? result.survived : result.failures);
        // Where one allocation failed and all went well, something did without it: the answer must be the same.
        if (worked && answer != expected && result.wrong++ == 0) result.first_wrong = n;
        if (blocks_held() - before != usual && result.leaks++ == 0) result.first_leak = n;
    }
    return result;
}

void check(const Sweep& result) {
    INFO(result.allocations << " allocations, " << result.failures << " goes failed, " << result.survived
                            << " worked; first leak at " << result.first_leak << ", first wrong answer at "
                            << result.first_wrong);
    CHECK(result.leaks == 0);
    CHECK(result.wrong == 0);
    CHECK(result.failures > 0);
}

}  // namespace

TEST_CASE("Load and generate survive the failure of every single allocation", "[capi][medium]") {
    const std::string path = tiny_model();
    check(sweep([&](std::string& answer) { return go(path, false, answer); }, 1, Failing::once));
}

TEST_CASE("Load and generate survive memory that ends at any allocation", "[capi][medium]") {
    const std::string path = tiny_model();
    check(sweep([&](std::string& answer) { return go(path, false, answer); }, 7, Failing::from_then_on));
}

TEST_CASE("The objects that work alone survive the failure of every single allocation", "[capi][medium]") {
    check(sweep(go_alone, 1, Failing::once));
    check(sweep(go_alone, 7, Failing::from_then_on));
}

TEST_CASE("A chat with a real vocabulary survives failures all along the way", "[capi][medium]") {
    const std::string path = MIXTURA_CHAT_MODEL;
    check(sweep([&](std::string& answer) { return go(path, true, answer); }, 397, Failing::once));
}

}  // namespace mixtura::capi_test
