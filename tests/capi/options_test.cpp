// What a host may ask of a model and of a generation when it makes them.
#include <algorithm>
#include <cstring>

#include "capi/support.hpp"

namespace mixtura::capi_test {

TEST_CASE("A host's own policies route a generation made through C", "[capi][short]") {
    const Model model = open_model();
    struct Asked {
        std::vector<std::int64_t> layers = {};
        std::vector<std::uint8_t> mask = {};
        std::int64_t top_k = 1;
        int answer = 0;
        std::int32_t scoring = -1;
    } asked;
    mixtura_generation_options options = MIXTURA_GENERATION_OPTIONS_INIT;
    options.context_tokens = 64;
    options.user_data = &asked;
    options.change_router = [](std::int64_t layer, std::int64_t experts, mixtura_router_policy* policy, void* data) {
        auto& told = *static_cast<Asked*>(data);
        told.layers.push_back(layer);
        told.mask.assign(static_cast<std::size_t>(experts), 0);
        told.mask[7] = 1;
        policy->is_masked = told.mask.data();
        policy->is_masked_count = told.mask.size();
        policy->top_k = told.top_k;
        if (told.scoring >= 0) policy->scoring = told.scoring;
        return told.answer;
    };
    mixtura_generation* made = nullptr;
    must(mixtura_generation_create(model.get(), &options, &made));
    const Generation generation(made);
    CHECK(asked.layers == std::vector<std::int64_t>{0, 1, 2});
    std::vector<std::int32_t> chosen;
    mixtura_feed_options feed = MIXTURA_FEED_OPTIONS_INIT;
    feed.user_data = &chosen;
    feed.on_route = [](std::int64_t, std::int64_t, const mixtura_route_view* view, void* data) {
        CHECK(view->choice_count == 1);
        auto& all = *static_cast<std::vector<std::int32_t>*>(data);
        all.insert(all.end(), view->expert_ids, view->expert_ids + view->token_count);
        return 0;
    };
    const auto tokens = reference_tokens();
    must(mixtura_generation_feed(generation.get(), tokens.data(), 4, &feed));
    CHECK(chosen.size() == 3 * 4);
    CHECK(std::find(chosen.begin(), chosen.end(), 7) == chosen.end());

    mixtura_generation* unmade = nullptr;
    asked.scoring = 99;
    CHECK(mixtura_generation_create(model.get(), &options, &unmade) == MIXTURA_INVALID_ARGUMENT);
    CHECK(std::string(mixtura_last_error_message()) == "policy.scoring is 99, expected 0 to 3");
    asked.scoring = -1;
    asked.top_k = 0;
    CHECK(mixtura_generation_create(model.get(), &options, &unmade) == MIXTURA_INVALID_ARGUMENT);
    asked.top_k = 1;
    asked.answer = 1;
    CHECK(mixtura_generation_create(model.get(), &options, &unmade) == MIXTURA_CALLBACK_STOPPED);
    CHECK(std::string(mixtura_last_error_message()) == "change_router stopped at layer 0");
    CHECK(unmade == nullptr);
}

TEST_CASE("A model opened through C may have its weights quantised, and tells the price", "[capi][short]") {
    mixtura_model_options options = MIXTURA_MODEL_OPTIONS_INIT;
    options.weights = "mixed,attention=keep";
    mixtura_model* made = nullptr;
    must(mixtura_model_open(tiny_model().c_str(), &options, &made));
    const Model model(made);
    const std::size_t count = mixtura_model_weight_error_count(model.get());
    CHECK(count == 3 * 16 * 3 + 1);
    for (std::size_t i = 0; i < count; ++i) {
        mixtura_weight_error error = MIXTURA_WEIGHT_ERROR_INIT;
        must(mixtura_model_get_weight_error(model.get(), i, &error));
        CHECK(error.from == MIXTURA_DTYPE_BF16);
        CHECK(error.to == (std::string(error.kind) == "experts.up" || std::string(error.kind) == "head"
                               ? MIXTURA_DTYPE_Q8_0
                               : MIXTURA_DTYPE_Q5_0));
        CHECK(error.error_sum > 0);
        CHECK(error.error_sum < error.square_sum / 100);
        CHECK(error.largest > 0);
    }
    mixtura_weight_error error = MIXTURA_WEIGHT_ERROR_INIT;
    CHECK(mixtura_model_get_weight_error(model.get(), count, &error) == MIXTURA_OUT_OF_RANGE);
    CHECK(mixtura_model_weight_error_count(nullptr) == 0);
    mixtura_model* unmade = nullptr;
    options.weights = "everything";
    CHECK(mixtura_model_open(tiny_model().c_str(), &options, &unmade) == MIXTURA_INVALID_ARGUMENT);
    CHECK(unmade == nullptr);
}

TEST_CASE("A forecast counts with weights as they will be loaded", "[capi][short]") {
    mixtura_memory_forecast as_filed = MIXTURA_MEMORY_FORECAST_INIT, plain = as_filed, mixed = as_filed;
    must(mixtura_model_forecast(tiny_model().c_str(), 100, MIXTURA_CACHE_Q8, &as_filed));
    mixtura_forecast_options options = MIXTURA_FORECAST_OPTIONS_INIT;
    options.context_tokens = 100;
    options.cache_dtype = MIXTURA_CACHE_Q8;
    must(mixtura_model_forecast_with(tiny_model().c_str(), &options, &plain));
    CHECK(std::memcmp(&plain, &as_filed, sizeof plain) == 0);
    for (const char* weights : {"mixed", "q8_0", "experts=q4_0"}) {
        options.weights = weights;
        must(mixtura_model_forecast_with(tiny_model().c_str(), &options, &mixed));
        CHECK(mixed.weight_bytes < plain.weight_bytes);
        CHECK(mixed.cache_bytes == plain.cache_bytes);
        mixtura_model_options model_options = MIXTURA_MODEL_OPTIONS_INIT;
        model_options.weights = weights;
        mixtura_model* made = nullptr;
        must(mixtura_model_open(tiny_model().c_str(), &model_options, &made));
        const Model model(made);
        mixtura_model_facts facts = MIXTURA_MODEL_FACTS_INIT;
        must(mixtura_model_get_facts(model.get(), &facts));
        CHECK(facts.weight_bytes == mixed.weight_bytes);
    }
    options.weights = "everything";
    CHECK(mixtura_model_forecast_with(tiny_model().c_str(), &options, &mixed) == MIXTURA_INVALID_ARGUMENT);
    CHECK(mixtura_model_forecast_with(tiny_model().c_str(), nullptr, &mixed) == MIXTURA_OK);  // all defaults
}

TEST_CASE("Keys and values are kept as the choice says, in what the forecast says, and other pairs are refused",
          "[capi][short]") {
    const Model model = open_model();
    const std::vector<std::int32_t> tokens(100, 3);
    const auto made_with = [&](std::int32_t choice, mixtura_generation** made) {
        mixtura_generation_options options = MIXTURA_GENERATION_OPTIONS_INIT;
        options.thread_count = 1;
        options.context_tokens = 100;
        options.cache_dtype = choice;
        return mixtura_generation_create(model.get(), &options, made);
    };
    for (const std::int32_t choice :
         {MIXTURA_CACHE_F32, MIXTURA_CACHE_F16, MIXTURA_CACHE_BF16, MIXTURA_CACHE_F8, MIXTURA_CACHE_Q8,
          MIXTURA_CACHE_F16_F8, MIXTURA_CACHE_BF16_F8, MIXTURA_CACHE_F16_Q8, MIXTURA_CACHE_BF16_Q8}) {
        mixtura_generation* made = nullptr;
        must(made_with(choice, &made));
        const Generation generation(made);
        must(mixtura_generation_feed(made, tokens.data(), tokens.size(), nullptr));
        mixtura_generation_memory memory = MIXTURA_GENERATION_MEMORY_INIT;
        must(mixtura_generation_get_memory(made, &memory));
        mixtura_memory_forecast forecast = MIXTURA_MEMORY_FORECAST_INIT;
        must(mixtura_model_forecast(tiny_model().c_str(), 100, choice, &forecast));
        CHECK(memory.cache_bytes == forecast.cache_bytes);
    }
    for (const std::int32_t choice : {1, -1, 5 + 65536 * 3, 65536 * 44}) {  // the third: keys in f8, values in f16
        mixtura_generation* made = nullptr;
        CHECK(made_with(choice, &made) == MIXTURA_INVALID_ARGUMENT);
        CHECK(std::string(mixtura_last_error_message()).find("expected f32, f16, bf16, f16+q8") != std::string::npos);
    }
}

}  // namespace mixtura::capi_test
