// Every exported function with arguments it must refuse: all zeros, each pointer NULL in turn beside otherwise good
// arguments, and structures of the wrong size.  It survives, says why, and leaves what it was given alone.
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>
#include <type_traits>

#define MIXTURA_ENABLE_EXPERIMENTAL
#include <mixtura/mixtura_experimental.h>

#include "capi/support.hpp"

namespace mixtura::capi_test {
namespace {

template <class R, class... P>
std::function<void()> zero_call(const char* name, R (*function)(P...)) {
    return [name, function] {
        INFO(name);
        const std::set<std::string> plain = {"mixtura_version_number", "mixtura_feature", "mixtura_tokenizer_find",
                                             "mixtura_tokenizer_token_flags"};  // an int32_t that is no status
        if constexpr (std::is_same_v<R, mixtura_status>) {
            const mixtura_status status = function(P{}...);
            if (plain.contains(name)) return;
            CHECK(status <= MIXTURA_OK);
            // Those that have nothing to refuse: a question for a size needs no buffer.
            if (status == MIXTURA_OK)
                CHECK((std::string(name) == "mixtura_build_info" || std::string(name) == "mixtura_self_test"));
            if (status != MIXTURA_OK) CHECK(std::strlen(mixtura_last_error_message()) > 0);
        } else {
            (void)function(P{}...);
        }
    };
}

// Every function of the two headers.
#define MIXTURA_ZERO(name) \
    { #name, zero_call(#name, name) }
const std::map<std::string, std::function<void()>>& zero_calls() {
    static const std::map<std::string, std::function<void()>> all = {
#include "every_function.inc"
    };
    return all;
}

}  // namespace

TEST_CASE("Every exported function survives zeros for all its arguments", "[capi][short]") {
    std::set<std::string> declared;
    for (const char* header : {"mixtura.h", "mixtura_experimental.h"}) {
        std::ifstream file(std::string(MIXTURA_CAPI_INCLUDE "/mixtura/") + header);
        std::stringstream text;
        text << file.rdbuf();
        const std::string source = text.str();
        const std::regex declaration(R"(\nMIXTURA_API [^;(]*?(mixtura_\w+)\()");
        for (std::sregex_iterator it(source.begin(), source.end(), declaration), end; it != end; ++it)
            declared.insert((*it)[1]);
    }
    CHECK(declared.size() > 100);
    std::set<std::string> called;
    for (const auto& [name, call] : zero_calls()) {
        called.insert(name);
        call();
    }
    CHECK(called == declared);
}

namespace {

struct Tally {
    std::set<std::string> accepted;  // "function#argument", where NULL was fine
};

// Calls `function` with `arguments`, one pointer among them NULL, for each of them.
template <class... P>
void each_null(Tally& tally, const char* name, mixtura_status (*function)(P...), std::type_identity_t<P>... arguments) {
    std::tuple<P...> all(arguments...);
    const auto one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        using T = std::tuple_element_t<I, std::tuple<P...>>;
        if constexpr (std::is_pointer_v<T>) {
            const std::string place = std::string(name) + "#" + std::to_string(I);
            INFO(place);
            std::tuple<P...> changed = all;
            std::get<I>(changed) = nullptr;
            const mixtura_status status = std::apply(function, changed);
            CHECK(status <= MIXTURA_OK);
            if (status == MIXTURA_OK)
                tally.accepted.insert(place);
            else
                CHECK(std::strlen(mixtura_last_error_message()) > 0);
        }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) { (one(std::integral_constant<std::size_t, I>{}), ...); }
    (std::index_sequence_for<P...>{});
}
#define MIXTURA_EACH_NULL(function, ...) each_null(tally, #function, function, __VA_ARGS__)

}  // namespace

TEST_CASE("A NULL among good arguments is refused by its name, or is one of those that may be NULL", "[capi][short]") {
    const Model model = open_model();
    const Generation generation = make_generation(model.get());
    const auto tokens = reference_tokens();
    must(mixtura_generation_feed(generation.get(), tokens.data(), 4, nullptr));
    const std::string tokenizer_path = golden("tokenizers/bpe-qwen2"), path = tiny_model();
    mixtura_tokenizer* tokenizer = nullptr;
    must(mixtura_tokenizer_open(tokenizer_path.c_str(), &tokenizer));
    const Tokenizer owned_tokenizer(tokenizer);
    mixtura_checkpoint* checkpoint = nullptr;
    must(mixtura_checkpoint_open(path.c_str(), &checkpoint));
    const Checkpoint owned_checkpoint(checkpoint);
    const Plan plan = make_plan();
    const mixtura_router* router = mixtura_model_router(model.get(), 0);
    const mixtura_expert_pool* pool = mixtura_model_experts(model.get(), 0);
    std::vector<float> hidden(64), logits(160), probabilities(160);
    std::vector<std::int32_t> ids(64);
    char text[4096];
    std::size_t needed = 0;
    const std::int32_t* lent_tokens = nullptr;
    const float* lent_logits = nullptr;
    Tally tally;

    mixtura_backend_info backend = MIXTURA_BACKEND_INFO_INIT;
    MIXTURA_EACH_NULL(mixtura_get_backend_info, 0, &backend);
    MIXTURA_EACH_NULL(mixtura_build_info, text, sizeof text, &needed);
    mixtura_model_facts facts = MIXTURA_MODEL_FACTS_INIT;
    mixtura_tensor_info info = MIXTURA_TENSOR_INFO_INIT;
    mixtura_checkpoint* unopened = nullptr;
    MIXTURA_EACH_NULL(mixtura_checkpoint_open, path.c_str(), &unopened);
    MIXTURA_EACH_NULL(mixtura_checkpoint_get_facts, checkpoint, &facts);
    MIXTURA_EACH_NULL(mixtura_checkpoint_text, checkpoint, MIXTURA_ABOUT_FORMAT, text, sizeof text, &needed);
    MIXTURA_EACH_NULL(mixtura_checkpoint_warnings, checkpoint, text, sizeof text, &needed);
    std::size_t index = 0;
    MIXTURA_EACH_NULL(mixtura_checkpoint_find, checkpoint, "lm_head.weight", &index);
    MIXTURA_EACH_NULL(mixtura_checkpoint_tensor, checkpoint, 0, &info);
    MIXTURA_EACH_NULL(mixtura_checkpoint_tensor_name, checkpoint, 0, text, sizeof text, &needed);
    std::vector<char> bytes(1 << 16);
    MIXTURA_EACH_NULL(mixtura_checkpoint_read, checkpoint, 0, bytes.data(), bytes.size());
    mixtura_memory_forecast forecast = MIXTURA_MEMORY_FORECAST_INIT;
    MIXTURA_EACH_NULL(mixtura_model_forecast, path.c_str(), 0, 0, &forecast);
    const mixtura_forecast_options forecast_options = MIXTURA_FORECAST_OPTIONS_INIT;
    MIXTURA_EACH_NULL(mixtura_model_forecast_with, path.c_str(), &forecast_options, &forecast);
    mixtura_model* unmade = nullptr;
    const mixtura_model_options model_options = MIXTURA_MODEL_OPTIONS_INIT;
    MIXTURA_EACH_NULL(mixtura_model_open, nullptr, &model_options, &unmade);
    MIXTURA_EACH_NULL(mixtura_model_get_facts, model.get(), &facts);
    mixtura_model_options small_options = MIXTURA_MODEL_OPTIONS_INIT;
    small_options.weights = "q8_0";
    mixtura_model* quantised = nullptr;
    must(mixtura_model_open(path.c_str(), &small_options, &quantised));
    const Model owned_quantised(quantised);
    mixtura_weight_error weight_error = MIXTURA_WEIGHT_ERROR_INIT;
    MIXTURA_EACH_NULL(mixtura_model_get_weight_error, quantised, 0, &weight_error);
    MIXTURA_EACH_NULL(mixtura_model_text, model.get(), MIXTURA_ABOUT_NAME, text, sizeof text, &needed);
    MIXTURA_EACH_NULL(mixtura_model_warnings, model.get(), text, sizeof text, &needed);
    mixtura_sampling_options sampling = MIXTURA_SAMPLING_OPTIONS_INIT;
    MIXTURA_EACH_NULL(mixtura_model_get_sampling_defaults, model.get(), &sampling);

    mixtura_tokenizer* other = nullptr;
    MIXTURA_EACH_NULL(mixtura_tokenizer_open, tokenizer_path.c_str(), &other);
    MIXTURA_EACH_NULL(mixtura_tokenizer_of_model, model.get(), &other);
    const mixtura_encode_options encode = MIXTURA_ENCODE_OPTIONS_INIT;
    MIXTURA_EACH_NULL(mixtura_tokenizer_encode, tokenizer, "ab", 2, &encode, ids.data(), ids.size(), &needed);
    const mixtura_text_span span = {"ab", 2, 1, {}};
    MIXTURA_EACH_NULL(mixtura_tokenizer_encode_spans, tokenizer, &span, 1, ids.data(), ids.size(), &needed);
    MIXTURA_EACH_NULL(mixtura_tokenizer_decode, tokenizer, tokens.data(), 2, 1, text, sizeof text, &needed);
    MIXTURA_EACH_NULL(mixtura_tokenizer_token_bytes, tokenizer, 65, text, sizeof text, &needed);
    MIXTURA_EACH_NULL(mixtura_tokenizer_token_text, tokenizer, 65, text, sizeof text, &needed);
    std::int64_t elements = 0, block_bytes = 0;
    MIXTURA_EACH_NULL(mixtura_dtype_block, MIXTURA_DTYPE_F32, &elements, &block_bytes);
    mixtura_special_tokens special = MIXTURA_SPECIAL_TOKENS_INIT;
    MIXTURA_EACH_NULL(mixtura_tokenizer_get_special_tokens, tokenizer, &special);
    mixtura_stream_decoder* decoder = nullptr;
    MIXTURA_EACH_NULL(mixtura_stream_decoder_create, tokenizer, 1, &decoder);
    must(mixtura_stream_decoder_create(tokenizer, 1, &decoder));
    const Decoder owned_decoder(decoder);
    mixtura_text piece = {nullptr, 0};
    MIXTURA_EACH_NULL(mixtura_stream_decoder_push, decoder, 65, &piece);
    MIXTURA_EACH_NULL(mixtura_stream_decoder_finish, decoder, &piece);

    mixtura_template* layout = nullptr;
    MIXTURA_EACH_NULL(mixtura_template_parse, "{{ x }}", 7, &layout);
    must(mixtura_template_parse("{{ x }}", 7, &layout));
    const Template owned_layout(layout);
    mixtura_template* unparsed = nullptr;
    MIXTURA_EACH_NULL(mixtura_template_open, tokenizer_path.c_str(), "default", &unparsed);
    MIXTURA_EACH_NULL(mixtura_template_of_model, model.get(), &unparsed);
    const mixtura_render_options render = MIXTURA_RENDER_OPTIONS_INIT;
    mixtura_prompt* prompt = nullptr;
    must(mixtura_template_render(layout, "{}", 2, &render, &prompt));
    const Prompt owned_prompt(prompt);
    mixtura_prompt* unrendered = nullptr;
    each_null(tally, "mixtura_template_render", mixtura_template_render, layout, "{}", 2, nullptr, &unrendered);
    mixtura_prompt_destroy(unrendered);
    MIXTURA_EACH_NULL(mixtura_prompt_text, prompt, text, sizeof text, &needed);
    mixtura_text_span spans[4];
    MIXTURA_EACH_NULL(mixtura_prompt_spans, prompt, spans, 4, &needed);

    mixtura_sampler* sampler = nullptr;
    must(mixtura_sampler_create(160, &sampling, &sampler));
    const Sampler owned_sampler(sampler);
    mixtura_sampler* uncreated = nullptr;
    each_null(tally, "mixtura_sampler_create", mixtura_sampler_create, 0, &sampling, &uncreated);
    mixtura_sampled sampled = MIXTURA_SAMPLED_INIT;
    MIXTURA_EACH_NULL(mixtura_sampler_sample, sampler, logits.data(), 160, tokens.data(), 2, 1, &sampled);
    MIXTURA_EACH_NULL(mixtura_sampler_probabilities, sampler, logits.data(), 160, tokens.data(), 2, 1,
                      probabilities.data());

    mixtura_router_policy policy = MIXTURA_ROUTER_POLICY_INIT;
    MIXTURA_EACH_NULL(mixtura_router_get_policy, router, &policy);
    const std::uint8_t padding = 1;
    MIXTURA_EACH_NULL(mixtura_router_route, router, hidden.data(), 1, &policy, &padding, plan.get());
    MIXTURA_EACH_NULL(mixtura_router_logits, router, hidden.data(), 1, logits.data());
    MIXTURA_EACH_NULL(mixtura_route_logits, logits.data(), 1, 16, logits.data(), &policy, &padding, plan.get());
    mixtura_route_view view = MIXTURA_ROUTE_VIEW_INIT;
    MIXTURA_EACH_NULL(mixtura_route_plan_view, plan.get(), &view);
    const std::int32_t expert = 0;
    const float weight = 1;
    const Plan written = make_plan();
    MIXTURA_EACH_NULL(mixtura_route_plan_set, written.get(), 1, 1, 16, &expert, &weight);
    mixtura_router_spec router_spec = MIXTURA_ROUTER_SPEC_INIT;
    mixtura_router* unmade_router = nullptr;
    MIXTURA_EACH_NULL(mixtura_router_create, &router_spec, &unmade_router);
    mixtura_expert_spec expert_spec = MIXTURA_EXPERT_SPEC_INIT;
    mixtura_expert_pool* unmade_pool = nullptr;
    MIXTURA_EACH_NULL(mixtura_expert_pool_create, &expert_spec, &unmade_pool);
    mixtura_expert_pool_stats stats = MIXTURA_EXPERT_POOL_STATS_INIT;
    MIXTURA_EACH_NULL(mixtura_expert_pool_get_stats, pool, &stats);
    std::vector<float> output(64);
    must(mixtura_router_route(router, hidden.data(), 1, nullptr, nullptr, plan.get()));
    MIXTURA_EACH_NULL(mixtura_expert_pool_run, pool, hidden.data(), 1, plan.get(), output.data());

    const SmallCache small(1, 8, MIXTURA_DTYPE_F32);
    mixtura_kv_cache* cache = nullptr;
    must(mixtura_kv_cache_create(&small.options, &cache));
    const Cache owned_cache(cache);
    mixtura_kv_cache* uncached = nullptr;
    MIXTURA_EACH_NULL(mixtura_kv_cache_create, &small.options, &uncached);
    mixtura_sequence sequence = 0, fork = 0;
    must(mixtura_kv_cache_create_sequence(cache, &sequence));
    std::int64_t position = 0;
    must(mixtura_kv_cache_append(cache, sequence, 2, &position));
    mixtura_kv_memory memory = MIXTURA_KV_MEMORY_INIT;
    MIXTURA_EACH_NULL(mixtura_kv_cache_get_memory, cache, &memory);
    MIXTURA_EACH_NULL(mixtura_kv_cache_create_sequence, cache, &fork);
    MIXTURA_EACH_NULL(mixtura_kv_cache_fork, cache, sequence, &fork);
    MIXTURA_EACH_NULL(mixtura_kv_cache_free_sequence, cache, std::uint64_t{999});
    MIXTURA_EACH_NULL(mixtura_kv_cache_length, cache, sequence, &position);
    MIXTURA_EACH_NULL(mixtura_kv_cache_append, cache, sequence, 1, &position);
    MIXTURA_EACH_NULL(mixtura_kv_cache_truncate, cache, sequence, 2);
    MIXTURA_EACH_NULL(mixtura_kv_cache_release_before, cache, sequence, 0, 0);
    MIXTURA_EACH_NULL(mixtura_kv_cache_first_visible, cache, sequence, 0, &position);
    MIXTURA_EACH_NULL(mixtura_kv_cache_write, cache, sequence, 0, 0, 0, 1, hidden.data());
    MIXTURA_EACH_NULL(mixtura_kv_cache_read, cache, sequence, 0, 0, 0, 1, hidden.data());
    mixtura_kv_view kv_view = MIXTURA_KV_VIEW_INIT;
    MIXTURA_EACH_NULL(mixtura_kv_cache_view, cache, sequence, 0, &kv_view);
    mixtura_kv_plane_view plane_view = {};
    MIXTURA_EACH_NULL(mixtura_kv_cache_plane, cache, sequence, 0, 0, &plane_view);
    MIXTURA_EACH_NULL(mixtura_kv_cache_export, cache, sequence, bytes.data(), bytes.size(), &needed);
    MIXTURA_EACH_NULL(mixtura_kv_cache_import, cache, bytes.data(), 100, &fork);

    mixtura_generation* uncreated_generation = nullptr;
    MIXTURA_EACH_NULL(mixtura_generation_create, nullptr, nullptr, &uncreated_generation);
    const mixtura_feed_options feed = MIXTURA_FEED_OPTIONS_INIT;
    MIXTURA_EACH_NULL(mixtura_generation_feed, generation.get(), tokens.data(), 1, &feed);
    MIXTURA_EACH_NULL(mixtura_generation_logits, generation.get(), &lent_logits, &needed);
    MIXTURA_EACH_NULL(mixtura_generation_tokens, generation.get(), &lent_tokens, &needed);
    MIXTURA_EACH_NULL(mixtura_generation_truncate, generation.get(), 1);
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.prompt = tokens.data();
    request.prompt_count = 2;
    request.tokens_max = 1;
    mixtura_answer answer = MIXTURA_ANSWER_INIT;
    MIXTURA_EACH_NULL(mixtura_generation_run, generation.get(), &request, &answer);
    std::int64_t choices[16];
    MIXTURA_EACH_NULL(mixtura_generation_expert_load, generation.get(), 0, choices, 16, &needed);
    mixtura_generation_memory generation_memory = MIXTURA_GENERATION_MEMORY_INIT;
    MIXTURA_EACH_NULL(mixtura_generation_get_memory, generation.get(), &generation_memory);
    mixtura_chat* chat = nullptr;
    MIXTURA_EACH_NULL(mixtura_chat_create, model.get(), nullptr, &chat);
    mixtura_x_batch* batch = nullptr;
    MIXTURA_EACH_NULL(mixtura_x_batch_create, nullptr, nullptr, 1, &batch);

    CHECK(unopened == nullptr);
    CHECK(unmade == nullptr);
    CHECK(other == nullptr);
    CHECK(unparsed == nullptr);
    CHECK(uncreated == nullptr);
    CHECK(unmade_router == nullptr);
    CHECK(unmade_pool == nullptr);
    CHECK(uncached == nullptr);
    CHECK(uncreated_generation == nullptr);
    CHECK(chat == nullptr);
    CHECK(batch == nullptr);
    const std::set<std::string> expected = {"mixtura_build_info#2",
                                            "mixtura_checkpoint_text#4",
                                            "mixtura_checkpoint_warnings#3",
                                            "mixtura_checkpoint_tensor_name#4",
                                            "mixtura_model_forecast_with#1",
                                            "mixtura_model_text#4",
                                            "mixtura_model_warnings#3",
                                            "mixtura_tokenizer_encode#3",
                                            "mixtura_tokenizer_encode#6",
                                            "mixtura_tokenizer_encode_spans#5",
                                            "mixtura_tokenizer_decode#6",
                                            "mixtura_tokenizer_token_bytes#4",
                                            "mixtura_tokenizer_token_text#4",
                                            "mixtura_template_render#3",
                                            "mixtura_prompt_text#3",
                                            "mixtura_prompt_spans#3",
                                            "mixtura_router_route#3",
                                            "mixtura_router_route#4",
                                            "mixtura_route_logits#3",
                                            "mixtura_route_logits#4",
                                            "mixtura_route_logits#5",
                                            "mixtura_kv_cache_export#4",
                                            "mixtura_generation_feed#3",
                                            "mixtura_generation_run#2",
                                            "mixtura_generation_expert_load#4"};
    CHECK(tally.accepted == expected);
}

namespace {

// A structure of option type T as callers of other versions would pass it; `call` gets the pointer.  `first`: the size
// it was first released with.
template <class T, class Call>
void each_size(const T& good, const Call& call, std::size_t first = sizeof(T)) {
    alignas(T) unsigned char room[sizeof(T) + 64] = {};
    auto* given = reinterpret_cast<T*>(room);
    const auto with_size = [&](std::size_t size) {
        std::memset(room, 0, sizeof room);
        std::memcpy(room, &good, sizeof good);
        std::memcpy(room, &size, sizeof size);
        return given;
    };
    for (const std::size_t small : {std::size_t{0}, std::size_t{1}, first - 1})
        CHECK(call(with_size(small)) == MIXTURA_INVALID_ARGUMENT);
    CHECK(call(with_size(first)) == MIXTURA_OK);
    CHECK(call(with_size(sizeof(T))) == MIXTURA_OK);
    CHECK(call(with_size(sizeof room)) == MIXTURA_OK);
    with_size(sizeof room);
    room[sizeof room - 1] = 1;
    CHECK(call(given) == MIXTURA_UNSUPPORTED);
}

// A result structure likewise: what lies beyond the library's knowledge is left alone.
template <class T, class Call>
void each_result_size(const Call& call) {
    alignas(T) unsigned char room[sizeof(T) + 64];
    auto* given = reinterpret_cast<T*>(room);
    const auto with_size = [&](std::size_t size) {
        std::memset(room, 0xA5, sizeof room);
        std::memcpy(room, &size, sizeof size);
        return given;
    };
    const auto untouched = [&](std::size_t from) {
        for (std::size_t i = from; i < sizeof room; ++i)
            if (room[i] != 0xA5) return false;
        return true;
    };
    for (const std::size_t small : {std::size_t{0}, sizeof(T) - 1}) {
        CHECK(call(with_size(small)) == MIXTURA_INVALID_ARGUMENT);
        CHECK(untouched(sizeof(std::size_t)));
    }
    CHECK(call(with_size(sizeof(T))) == MIXTURA_OK);
    CHECK(untouched(sizeof(T)));
    CHECK_FALSE(untouched(sizeof(std::size_t)));
    CHECK(call(with_size(sizeof room)) == MIXTURA_OK);
    std::size_t kept = 0;
    std::memcpy(&kept, room, sizeof kept);
    CHECK(kept == sizeof room);
}

}  // namespace

// Not run against a library whose structures have grown: there the room behind them is known.
TEST_CASE("Structures smaller than the first, or larger with something unknown in them, are refused",
          "[capi][short][struct_size]") {
    const Model model = open_model();
    const Generation generation = make_generation(model.get());
    const auto tokens = reference_tokens();
    const std::string path = tiny_model();
    each_size<mixtura_forecast_options>(MIXTURA_FORECAST_OPTIONS_INIT, [&](const mixtura_forecast_options* options) {
        mixtura_memory_forecast forecast = MIXTURA_MEMORY_FORECAST_INIT;
        return mixtura_model_forecast_with(path.c_str(), options, &forecast);
    });
    each_size<mixtura_model_options>(
        MIXTURA_MODEL_OPTIONS_INIT,
        [&](const mixtura_model_options* options) {
            mixtura_model* made = nullptr;
            const mixtura_status status = mixtura_model_open(path.c_str(), options, &made);
            mixtura_model_destroy(made);
            return status;
        },
        offsetof(mixtura_model_options, weights));
    each_size<mixtura_generation_options>(
        MIXTURA_GENERATION_OPTIONS_INIT,
        [&](const mixtura_generation_options* options) {
            mixtura_generation* made = nullptr;
            const mixtura_status status = mixtura_generation_create(model.get(), options, &made);
            mixtura_generation_destroy(made);
            return status;
        },
        offsetof(mixtura_generation_options, change_router));
    each_size<mixtura_feed_options>(MIXTURA_FEED_OPTIONS_INIT, [&](const mixtura_feed_options* options) {
        return mixtura_generation_feed(generation.get(), tokens.data(), 1, options);
    });
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.prompt = tokens.data();
    request.prompt_count = 2;
    request.tokens_max = 1;
    each_size<mixtura_request>(request, [&](const mixtura_request* given) {
        return mixtura_generation_run(generation.get(), given, nullptr);
    });
    each_size<mixtura_sampling_options>(MIXTURA_SAMPLING_OPTIONS_INIT, [&](const mixtura_sampling_options* options) {
        mixtura_sampler* made = nullptr;
        const mixtura_status status = mixtura_sampler_create(16, options, &made);
        mixtura_sampler_destroy(made);
        return status;
    });
    const Plan plan = make_plan();
    const std::vector<float> hidden(64), logits(16);
    each_size<mixtura_router_policy>(MIXTURA_ROUTER_POLICY_INIT, [&](const mixtura_router_policy* policy) {
        return mixtura_route_logits(logits.data(), 1, 16, nullptr, policy, nullptr, plan.get());
    });
    const std::vector<float> weights(64 * 64);
    const mixtura_tensor matrix = {weights.data(), MIXTURA_DTYPE_F32, 2, {2, 64, 0, 0}, {0, 0, 0, 0}};
    mixtura_router_spec router_spec = MIXTURA_ROUTER_SPEC_INIT;
    router_spec.hidden_size = 64;
    router_spec.expert_count = 2;
    router_spec.gate = &matrix;
    each_size<mixtura_router_spec>(router_spec, [&](const mixtura_router_spec* spec) {
        mixtura_router* made = nullptr;
        const mixtura_status status = mixtura_router_create(spec, &made);
        mixtura_router_destroy(made);
        return status;
    });
    const mixtura_tensor experts = {weights.data(), MIXTURA_DTYPE_F32, 3, {2, 32, 32, 0}, {0, 0, 0, 0}};
    mixtura_expert_spec expert_spec = MIXTURA_EXPERT_SPEC_INIT;
    expert_spec.hidden_size = 32;
    expert_spec.width = 32;
    expert_spec.expert_count = 2;
    expert_spec.tensor_count = 1;
    expert_spec.gate = expert_spec.up = expert_spec.down = &experts;
    each_size<mixtura_expert_spec>(expert_spec, [&](const mixtura_expert_spec* spec) {
        mixtura_expert_pool* made = nullptr;
        const mixtura_status status = mixtura_expert_pool_create(spec, &made);
        mixtura_expert_pool_destroy(made);
        return status;
    });
    const SmallCache small(1, 8, MIXTURA_DTYPE_F32);
    each_size<mixtura_kv_cache_options>(small.options, [&](const mixtura_kv_cache_options* options) {
        mixtura_kv_cache* made = nullptr;
        const mixtura_status status = mixtura_kv_cache_create(options, &made);
        mixtura_kv_cache_destroy(made);
        return status;
    });
    mixtura_tokenizer* tokenizer = nullptr;
    must(mixtura_tokenizer_open(golden("tokenizers/bpe-qwen2").c_str(), &tokenizer));
    const Tokenizer owned(tokenizer);
    each_size<mixtura_encode_options>(MIXTURA_ENCODE_OPTIONS_INIT, [&](const mixtura_encode_options* options) {
        return mixtura_tokenizer_encode(tokenizer, "ab", 2, options, nullptr, 0, nullptr);
    });
    mixtura_template* layout = nullptr;
    must(mixtura_template_parse("{{ x }}", 7, &layout));
    const Template owned_layout(layout);
    each_size<mixtura_render_options>(MIXTURA_RENDER_OPTIONS_INIT, [&](const mixtura_render_options* options) {
        mixtura_prompt* prompt = nullptr;
        const mixtura_status status = mixtura_template_render(layout, "{}", 2, options, &prompt);
        mixtura_prompt_destroy(prompt);
        return status;
    });

    each_result_size<mixtura_model_facts>([&](auto* out) { return mixtura_model_get_facts(model.get(), out); });
    each_result_size<mixtura_backend_info>([&](auto* out) { return mixtura_get_backend_info(0, out); });
    each_result_size<mixtura_memory_forecast>(
        [&](auto* out) { return mixtura_model_forecast(path.c_str(), 0, 0, out); });
    each_result_size<mixtura_sampling_options>(
        [&](auto* out) { return mixtura_model_get_sampling_defaults(model.get(), out); });
    each_result_size<mixtura_router_policy>(
        [&](auto* out) { return mixtura_router_get_policy(mixtura_model_router(model.get(), 0), out); });
    each_result_size<mixtura_route_view>([&](auto* out) { return mixtura_route_plan_view(plan.get(), out); });
    each_result_size<mixtura_expert_pool_stats>(
        [&](auto* out) { return mixtura_expert_pool_get_stats(mixtura_model_experts(model.get(), 0), out); });
    each_result_size<mixtura_generation_memory>(
        [&](auto* out) { return mixtura_generation_get_memory(generation.get(), out); });
    each_result_size<mixtura_special_tokens>(
        [&](auto* out) { return mixtura_tokenizer_get_special_tokens(tokenizer, out); });
    each_result_size<mixtura_answer>(
        [&](auto* out) { return mixtura_generation_run(generation.get(), &request, out); });
}

TEST_CASE("What does not exist, is too large or makes no sense is refused in words", "[capi][short]") {
    const Model model = open_model();
    const auto refuses = [](mixtura_status expected, const std::string& words, mixtura_status status) {
        INFO(mixtura_last_error_message());
        CHECK(status == expected);
        CHECK(std::string(mixtura_last_error_message()).find(words) != std::string::npos);
    };
    mixtura_model* made = nullptr;
    refuses(MIXTURA_NOT_FOUND, "/nowhere/at/all", mixtura_model_open("/nowhere/at/all", nullptr, &made));
    mixtura_tokenizer* tokenizer = nullptr;
    refuses(MIXTURA_NOT_FOUND, "tokenizer", mixtura_tokenizer_of_model(model.get(), &tokenizer));
    const Plan plan = make_plan();
    const float number = 1;
    refuses(MIXTURA_INVALID_ARGUMENT, "hidden has an impossible size",
            mixtura_router_route(mixtura_model_router(model.get(), 0), &number, SIZE_MAX / 2, nullptr, nullptr,
                                 plan.get()));
    refuses(MIXTURA_INVALID_ARGUMENT, "logits has an impossible size",
            mixtura_route_logits(&number, 1, -5, nullptr, nullptr, nullptr, plan.get()));
    const std::int32_t wrong[] = {3, 3};
    const float weights[] = {0.5F, 0.5F};
    refuses(MIXTURA_INVALID_ARGUMENT, "twice", mixtura_route_plan_set(plan.get(), 1, 2, 16, wrong, weights));
    mixtura_router_policy policy = MIXTURA_ROUTER_POLICY_INIT;
    policy.scoring = 99;
    refuses(MIXTURA_INVALID_ARGUMENT, "policy.scoring is 99, expected 0 to 3",
            mixtura_route_logits(&number, 1, 1, nullptr, &policy, nullptr, plan.get()));
    const Generation generation = make_generation(model.get());
    const std::int32_t beyond = 160;
    refuses(MIXTURA_INVALID_ARGUMENT, "160", mixtura_generation_feed(generation.get(), &beyond, 1, nullptr));
    mixtura_chat* chat = nullptr;
    refuses(MIXTURA_NOT_FOUND, "tokenizer", mixtura_chat_create(model.get(), nullptr, &chat));
    mixtura_generation_cancel(nullptr);
    mixtura_model_options options = MIXTURA_MODEL_OPTIONS_INIT;
    options.on_progress = [](std::uint64_t, std::uint64_t, void*) { return 1; };
    refuses(MIXTURA_CANCELLED, "cancelled", mixtura_model_open(tiny_model().c_str(), &options, &made));
    CHECK(made == nullptr);
    CHECK(std::string(mixtura_status_name(-22)) == "CORRUPT_FILE");
    CHECK(std::string(mixtura_status_name(12345)) == "UNKNOWN");
}

}  // namespace mixtura::capi_test
