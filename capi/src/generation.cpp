#include "convert.hpp"

namespace mixtura::capi {

CacheDTypes cache_dtypes_from(std::int32_t choice) {
    if (choice == 0) return {};
    const auto bits = static_cast<std::uint32_t>(choice);
    const auto keys = static_cast<DType>(bits & 0xFFFFU), values = static_cast<DType>(bits >> 16);
    return {keys, values == DType::unknown ? keys : values};
}

GenerationOptions generation_options_from(const mixtura_generation_options* options) {
    const mixtura_generation_options defaults = MIXTURA_GENERATION_OPTIONS_INIT;
    const mixtura_generation_options wanted = options_of(options, defaults, "generation options");
    GenerationOptions ours;
    ours.thread_count = wanted.thread_count;
    ours.context_tokens = wanted.context_tokens;
    ours.cache_dtype = cache_dtypes_from(wanted.cache_dtype);
    if (wanted.step_tokens != 0) ours.step_tokens = wanted.step_tokens;
    if (wanted.change_router != nullptr) {
        ours.change_router = [wanted](std::int64_t layer, const RouterSpec& router, RouterPolicy& policy) -> Status {
            const std::vector<std::uint8_t> mask(policy.is_masked.begin(), policy.is_masked.end());
            mixtura_router_policy theirs = policy_to(policy, mask);
            if (wanted.change_router(layer, router.expert_count, &theirs, wanted.user_data) != 0)
                return Status(StatusCode::callback_stopped, "change_router stopped at layer " + std::to_string(layer));
            try {
                policy = policy_from(theirs);
            } catch (const Failure& failure) {
                return failure.status;
            }
            return {};
        };
    }
    return ours;
}

StopOptions stop_from(const mixtura_request& request) {
    StopOptions stop;
    if (request.stop_tokens != nullptr)
        stop.tokens.emplace(request.stop_tokens, request.stop_tokens + request.stop_token_count);
    else
        (void)array(request.stop_tokens, request.stop_token_count, "request.stop_tokens");
    for (const mixtura_text& text : array(request.stop_strings, request.stop_string_count, "request.stop_strings"))
        stop.strings.emplace_back(text_of(text.utf8, text.bytes, "a stop string's utf8"));
    if (request.tokens_max != 0) stop.max_tokens = request.tokens_max;
    return stop;
}

std::function<Flow(std::int64_t, std::int64_t, const RoutePlan&)> route_from(mixtura_on_route on_route,
                                                                             void* user_data) {
    if (on_route == nullptr) return {};
    return [on_route, user_data](std::int64_t position, std::int64_t layer, const RoutePlan& plan) {
        const mixtura_route_view view = view_of(plan);
        return flow_from(on_route(position, layer, &view, user_data));
    };
}

mixtura_answer answer_to(const GenerationResult& result) {
    mixtura_answer out = MIXTURA_ANSWER_INIT;
    out.utf8 = result.text.data();
    out.bytes = result.text.size();
    out.tokens = result.tokens.data();
    out.token_count = result.tokens.size();
    out.prompt_tokens = result.prompt_tokens;
    out.reused_tokens = result.reused_tokens;
    out.prefill_seconds = result.prefill_seconds;
    out.decode_seconds = result.decode_seconds;
    out.finish = static_cast<std::int32_t>(result.reason);
    return out;
}

}  // namespace mixtura::capi

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

mixtura::Generation& of(mixtura_generation* generation) {
    if (!given(generation, "generation").own)
        fail(StatusCode::bad_state,
             "this generation is a chat's, lent for its figures: feed and run it through the chat");
    return *generation->own;
}
const mixtura::Generation& of(const mixtura_generation* generation) {
    return *given(generation, "generation").generation;
}

}  // namespace

extern "C" {

const char* mixtura_finish_name(int32_t reason) noexcept {
    return mixtura::finish_reason_name(static_cast<mixtura::FinishReason>(reason)).data();
}

mixtura_status mixtura_generation_create(const mixtura_model* model, const mixtura_generation_options* options,
                                         mixtura_generation** generation) noexcept {
    return guard([&] {
        given(generation, "generation");
        auto made = std::make_unique<mixtura_generation>();
        made->own = take(mixtura::Generation::create(given(model, "model").model, generation_options_from(options)));
        made->generation = &*made->own;
        *generation = made.release();
    });
}

void mixtura_generation_destroy(mixtura_generation* generation) noexcept {
    if (generation != nullptr && generation->own) delete generation;
}

mixtura_status mixtura_generation_feed(mixtura_generation* generation, const int32_t* tokens, size_t token_count,
                                       const mixtura_feed_options* options) noexcept {
    return guard([&] {
        const mixtura_feed_options defaults = MIXTURA_FEED_OPTIONS_INIT;
        const mixtura_feed_options wanted = options_of(options, defaults, "options");
        mixtura::FeedOptions ours;
        if (wanted.on_logits != nullptr) {
            ours.on_logits = [wanted](std::int64_t position, std::span<const float> logits) {
                return flow_from(wanted.on_logits(position, logits.data(), logits.size(), wanted.user_data));
            };
        }
        if (wanted.on_hidden != nullptr) {
            const auto width = static_cast<std::size_t>(of(generation).model().facts().hidden_size);
            ours.on_hidden = [wanted, width](std::int64_t position, std::int64_t layer, std::span<const float> hidden) {
                return flow_from(
                    wanted.on_hidden(position, layer, hidden.data(), hidden.size() / width, width, wanted.user_data));
            };
        }
        ours.on_route = route_from(wanted.on_route, wanted.user_data);
        check(of(generation).feed(array(tokens, token_count, "tokens"), ours));
    });
}

mixtura_status mixtura_generation_logits(const mixtura_generation* generation, const float** logits,
                                         size_t* logit_count) noexcept {
    return guard([&] {
        const auto found = of(generation).logits();
        given(logits, "logits");
        given(logit_count, "logit_count") = found.size();
        *logits = found.empty() ? nullptr : found.data();
    });
}

mixtura_status mixtura_generation_tokens(const mixtura_generation* generation, const int32_t** tokens,
                                         size_t* token_count) noexcept {
    return guard([&] {
        const auto found = of(generation).tokens();
        given(tokens, "tokens");
        given(token_count, "token_count") = found.size();
        *tokens = found.empty() ? nullptr : found.data();
    });
}

mixtura_status mixtura_generation_truncate(mixtura_generation* generation, int64_t length) noexcept {
    return guard([&] { check(of(generation).truncate(length)); });
}

mixtura_status mixtura_generation_run(mixtura_generation* generation, const mixtura_request* request,
                                      mixtura_answer* answer) noexcept {
    return guard([&] {
        const mixtura_request defaults = MIXTURA_REQUEST_INIT;
        const mixtura_request wanted = options_of(&given(request, "request"), defaults, "request");
        if (answer != nullptr) checked_size(*answer, "answer");
        mixtura_generation& g = given(generation, "generation");
        mixtura::Generation& engine = of(generation);
        mixtura::GenerationRequest ours;
        const auto prompt = array(wanted.prompt, wanted.prompt_count, "request.prompt");
        ours.prompt.assign(prompt.begin(), prompt.end());
        ours.sampling = sampling_from(wanted.sampling);
        ours.stop = stop_from(wanted);
        ours.on_route = route_from(wanted.on_route, wanted.user_data);
        if (wanted.on_piece != nullptr) {
            ours.on_piece = [&g, wanted](const mixtura::Piece& piece) {
                const mixtura_sampled sampled = sampled_to(piece.sampled, g.likeliest);
                return flow_from(wanted.on_piece(piece.text.data(), piece.text.size(), &sampled, wanted.user_data));
            };
        }
        g.result = take(engine.generate(ours));
        if (answer != nullptr) give(answer, answer_to(g.result), "answer");
    });
}

mixtura_status mixtura_generation_expert_load(const mixtura_generation* generation, int64_t layer, int64_t* choices,
                                              size_t capacity, size_t* needed) noexcept {
    return guard([&] {
        const auto& layers = of(generation).expert_load().layers;
        if (layer < 0 || layer >= of(generation).model().layer_count()) {
            fail(StatusCode::out_of_range, "layer is " + std::to_string(layer) + ", but the model has " +
                                               std::to_string(of(generation).model().layer_count()));
        }
        const auto index = static_cast<std::size_t>(layer);
        const std::span<const std::int64_t> counts =
            index < layers.size() ? std::span(layers[index]) : std::span<const std::int64_t>();
        give_array(counts, choices, capacity, needed, "choices");
    });
}

void mixtura_generation_cancel(mixtura_generation* generation) noexcept {
    if (generation != nullptr && generation->own) generation->own->cancel();
}

mixtura_status mixtura_generation_get_memory(const mixtura_generation* generation,
                                             mixtura_generation_memory* memory) noexcept {
    return guard([&] {
        const mixtura::Generation& g = of(generation);
        mixtura_generation_memory out = MIXTURA_GENERATION_MEMORY_INIT;
        out.cache_bytes = g.cache_bytes();
        out.scratch_bytes = g.scratch_bytes();
        out.thread_count = g.thread_count();
        give(memory, out, "memory");
    });
}

}  // extern "C"
