#include "convert.hpp"

using namespace mixtura::capi;

extern "C" {

mixtura_status mixtura_template_parse(const char* utf8, size_t bytes, mixtura_template** result) noexcept {
    return guard([&] {
        given(result, "result");
        give_handle(result, take(mixtura::ChatTemplate::parse(text_of(utf8, bytes, "utf8"))));
    });
}

mixtura_status mixtura_template_open(const char* path, const char* name, mixtura_template** result) noexcept {
    return guard([&] {
        given(result, "result");
        give_handle(result,
                    take(mixtura::ChatTemplate::open(&given(path, "path"), name == nullptr ? "default" : name)));
    });
}

mixtura_status mixtura_template_of_model(const mixtura_model* model, mixtura_template** result) noexcept {
    return guard([&] {
        given(result, "result");
        give_handle(result, take(mixtura::Result<mixtura::ChatTemplate>(given(model, "model").model.chat_template())));
    });
}

void mixtura_template_destroy(mixtura_template* chat_template) noexcept { delete chat_template; }

mixtura_status mixtura_template_render(const mixtura_template* chat_template, const char* json, size_t json_bytes,
                                       const mixtura_render_options* options, mixtura_prompt** prompt) noexcept {
    return guard([&] {
        given(prompt, "prompt");
        const mixtura_render_options defaults = MIXTURA_RENDER_OPTIONS_INIT;
        const mixtura_render_options wanted = options_of(options, defaults, "options");
        mixtura::TemplateInput input;
        input.json = text_of(json, json_bytes, "json");
        for (const mixtura_variable& variable : array(wanted.trusted, wanted.trusted_count, "options.trusted")) {
            input.trusted.push_back(
                {&given(variable.name, "a trusted variable's name"),
                 std::string(text_of(variable.value.utf8, variable.value.bytes, "a trusted variable's value"))});
        }
        for (const char* role : array(wanted.trusted_roles, wanted.trusted_role_count, "options.trusted_roles"))
            input.trusted_roles.emplace_back(&given(role, "a trusted role"));
        if (wanted.add_generation_prompt != MIXTURA_UNSET_INT32)
            input.add_generation_prompt = wanted.add_generation_prompt != 0;
        if (wanted.now != nullptr) input.now = take(mixtura::CivilTime::parse(wanted.now));
        give_handle(prompt, take(given(chat_template, "chat_template").layout.render(input)));
    });
}

void mixtura_prompt_destroy(mixtura_prompt* prompt) noexcept { delete prompt; }

mixtura_status mixtura_prompt_text(const mixtura_prompt* prompt, char* text, size_t capacity, size_t* needed) noexcept {
    return guard([&] { give_text(given(prompt, "prompt").prompt.text(), text, capacity, needed); });
}

mixtura_status mixtura_prompt_spans(const mixtura_prompt* prompt, mixtura_text_span* spans, size_t capacity,
                                    size_t* needed) noexcept {
    return guard([&] {
        std::vector<mixtura_text_span> found;
        for (const mixtura::PromptSpan& span : given(prompt, "prompt").prompt.spans)
            found.push_back({span.text.data(), span.text.size(), span.is_from_template, {}});
        give_array(std::span<const mixtura_text_span>(found), spans, capacity, needed, "spans");
    });
}

}  // extern "C"
