#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

const mixtura::Model& of(const mixtura_model* model) { return given(model, "model").model; }

std::vector<std::uint8_t> mask_bytes(const mixtura::RouterPolicy& policy) {
    return {policy.is_masked.begin(), policy.is_masked.end()};
}

mixtura::WeightMix mix_from(const char* weights) {
    return weights == nullptr ? mixtura::WeightMix() : take(mixtura::parse_weight_mix(weights));
}

void forecast_into(mixtura_memory_forecast* forecast, const char* path, std::int64_t context_tokens,
                   std::int32_t cache_dtype, const char* weights) {
    const mixtura::MemoryForecast found = take(mixtura::Model::forecast(
        &given(path, "path"), context_tokens, cache_dtypes_from(cache_dtype), mix_from(weights)));
    mixtura_memory_forecast out = MIXTURA_MEMORY_FORECAST_INIT;
    out.weight_bytes = found.weight_bytes;
    out.cache_bytes = found.cache_bytes;
    out.scratch_bytes = found.scratch_bytes;
    out.context_tokens = found.context_tokens;
    out.routed_parameters = found.token.routed_parameters;
    out.multiplied_parameters = found.token.multiplied_parameters;
    out.read_bytes = found.token.read_bytes;
    give(forecast, out, "forecast");
}

}  // namespace

extern "C" {

mixtura_status mixtura_model_forecast(const char* path, int64_t context_tokens, int32_t cache_dtype,
                                      mixtura_memory_forecast* forecast) noexcept {
    return guard([&] { forecast_into(forecast, path, context_tokens, cache_dtype, nullptr); });
}

mixtura_status mixtura_model_forecast_with(const char* path, const mixtura_forecast_options* options,
                                           mixtura_memory_forecast* forecast) noexcept {
    return guard([&] {
        const mixtura_forecast_options defaults = MIXTURA_FORECAST_OPTIONS_INIT;
        const mixtura_forecast_options wanted = options_of(options, defaults, "options");
        forecast_into(forecast, path, wanted.context_tokens, wanted.cache_dtype, wanted.weights);
    });
}

mixtura_status mixtura_model_open(const char* path, const mixtura_model_options* options,
                                  mixtura_model** model) noexcept {
    return guard([&] {
        given(model, "model");
        const mixtura_model_options defaults = MIXTURA_MODEL_OPTIONS_INIT;
        const mixtura_model_options wanted = options_of(options, defaults, "options");
        mixtura::ModelOptions ours;
        ours.thread_count = wanted.thread_count;
        if (wanted.on_progress != nullptr) {
            ours.on_progress = [wanted](std::uint64_t done, std::uint64_t total) {
                return flow_from(wanted.on_progress(done, total, wanted.user_data));
            };
        }
        ours.weights = mix_from(wanted.weights);
        mixtura_model opened{take(mixtura::Model::open(&given(path, "path"), ours))};
        for (std::int64_t layer = 0; layer < opened.model.layer_count(); ++layer) {
            const mixtura::Router* router = opened.model.router(layer);
            opened.routers.push_back(
                {{}, router, router == nullptr ? std::vector<std::uint8_t>() : mask_bytes(router->policy())});
            opened.experts.push_back({{}, opened.model.experts(layer)});
        }
        give_handle(model, std::move(opened));
    });
}

void mixtura_model_destroy(mixtura_model* model) noexcept { delete model; }

mixtura_status mixtura_model_get_facts(const mixtura_model* model, mixtura_model_facts* facts) noexcept {
    return guard([&] {
        mixtura_model_facts out = facts_to(of(model).facts());
        out.weight_bytes = of(model).weight_bytes();
        out.has_tokenizer = of(model).tokenizer().is_ok();
        out.has_chat_template = of(model).chat_template().is_ok();
        give(facts, out, "facts");
    });
}

size_t mixtura_model_weight_error_count(const mixtura_model* model) noexcept {
    return model == nullptr ? 0 : model->model.weight_errors().size();
}

mixtura_status mixtura_model_get_weight_error(const mixtura_model* model, size_t index,
                                              mixtura_weight_error* error) noexcept {
    return guard([&] {
        const std::span<const mixtura::WeightError> errors = of(model).weight_errors();
        check_index(index, errors.size(), "index", "changed matrices");
        const mixtura::WeightError& found = errors[index];
        mixtura_weight_error out = MIXTURA_WEIGHT_ERROR_INIT;
        out.role = found.role.c_str();
        out.kind = found.kind.c_str();
        out.parameter_count = found.parameter_count;
        out.error_sum = found.error_sum;
        out.square_sum = found.square_sum;
        out.largest = found.largest;
        out.from = static_cast<std::int32_t>(found.from);
        out.to = static_cast<std::int32_t>(found.to);
        give(error, out, "error");
    });
}

mixtura_status mixtura_model_text(const mixtura_model* model, int32_t about, char* text, size_t capacity,
                                  size_t* needed) noexcept {
    return guard([&] {
        const mixtura::Model& m = of(model);
        const auto out = [&](std::string_view found) { give_text(found, text, capacity, needed); };
        switch (about) {
            case MIXTURA_ABOUT_PATH: return out(m.path());
            case MIXTURA_ABOUT_ARCHITECTURE: return out(m.facts().architecture);
            case MIXTURA_ABOUT_NAME: return out(m.facts().name);
            case MIXTURA_ABOUT_DECLARED_SIZE: return out(m.facts().declared_size);
            case MIXTURA_ABOUT_TOKENIZER: return out(m.facts().tokenizer);
            case MIXTURA_ABOUT_BACKEND: return out(m.backend());
            default: fail(StatusCode::invalid_argument, "a model has no text " + std::to_string(about));
        }
    });
}

mixtura_status mixtura_model_warnings(const mixtura_model* model, char* text, size_t capacity,
                                      size_t* needed) noexcept {
    return guard([&] { give_text(lines_of(of(model).warnings()), text, capacity, needed); });
}

mixtura_status mixtura_model_get_sampling_defaults(const mixtura_model* model,
                                                   mixtura_sampling_options* options) noexcept {
    return guard([&] { give(options, sampling_to(of(model).sampling_defaults()), "options"); });
}

const mixtura_router* mixtura_model_router(const mixtura_model* model, int64_t layer) noexcept {
    if (model == nullptr || layer < 0 || layer >= model->model.layer_count()) return nullptr;
    const mixtura_router& router = model->routers[static_cast<std::size_t>(layer)];
    return router.router == nullptr ? nullptr : &router;
}

const mixtura_expert_pool* mixtura_model_experts(const mixtura_model* model, int64_t layer) noexcept {
    if (model == nullptr || layer < 0 || layer >= model->model.layer_count()) return nullptr;
    const mixtura_expert_pool& pool = model->experts[static_cast<std::size_t>(layer)];
    return pool.pool == nullptr ? nullptr : &pool;
}

}  // extern "C"
