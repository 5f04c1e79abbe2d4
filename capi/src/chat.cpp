#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

mixtura_chat& of(mixtura_chat* chat) { return given(chat, "chat"); }
const mixtura_chat& of(const mixtura_chat* chat) { return given(chat, "chat"); }

mixtura::Chat::OnText text_from(mixtura_on_text on_text, void* user_data) {
    if (on_text == nullptr) return {};
    return
        [on_text, user_data](std::string_view text) { return flow_from(on_text(text.data(), text.size(), user_data)); };
}

// reply() or regenerate(), which differ in nothing else.
template <class Answer>
mixtura_status answer_with(mixtura_chat* chat, mixtura_answer* answer, const Answer& make) noexcept {
    return guard([&] {
        if (answer != nullptr) checked_size(*answer, "answer");
        mixtura_chat& c = of(chat);
        c.result = take(make(c.chat));
        if (answer != nullptr) give(answer, answer_to(c.result), "answer");
    });
}

}  // namespace

extern "C" {

mixtura_status mixtura_chat_create(const mixtura_model* model, const mixtura_chat_options* options,
                                   mixtura_chat** chat) noexcept {
    return guard([&] {
        given(chat, "chat");
        const mixtura_chat_options defaults = MIXTURA_CHAT_OPTIONS_INIT;
        const mixtura_chat_options wanted = options_of(options, defaults, "options");
        const mixtura_request no_request = MIXTURA_REQUEST_INIT;
        const mixtura_request request = options_of(wanted.request, no_request, "options.request");
        mixtura::ChatOptions ours;
        ours.generation = generation_options_from(wanted.generation);
        ours.sampling = sampling_from(request.sampling);
        ours.stop = stop_from(request);
        ours.on_route = route_from(request.on_route, request.user_data);
        if (wanted.chat_template != nullptr) ours.chat_template = wanted.chat_template->layout;
        if (wanted.variables_json.utf8 != nullptr)
            ours.variables_json = text_of(wanted.variables_json.utf8, wanted.variables_json.bytes, "variables_json");
        if (wanted.now != nullptr) ours.now = take(mixtura::CivilTime::parse(wanted.now));
        give_handle(chat, take(mixtura::Chat::create(given(model, "model").model, ours)));
        (*chat)->generation.generation = &(*chat)->chat.generation();
    });
}

void mixtura_chat_destroy(mixtura_chat* chat) noexcept { delete chat; }

mixtura_status mixtura_chat_add(mixtura_chat* chat, const char* role, const char* utf8, size_t bytes) noexcept {
    return guard([&] { check(of(chat).chat.add(&given(role, "role"), text_of(utf8, bytes, "utf8"))); });
}

mixtura_status mixtura_chat_reply(mixtura_chat* chat, mixtura_on_text on_text, void* user_data,
                                  mixtura_answer* answer) noexcept {
    return answer_with(chat, answer, [&](mixtura::Chat& c) { return c.reply(text_from(on_text, user_data)); });
}

mixtura_status mixtura_chat_regenerate(mixtura_chat* chat, mixtura_on_text on_text, void* user_data,
                                       mixtura_answer* answer) noexcept {
    return answer_with(chat, answer, [&](mixtura::Chat& c) { return c.regenerate(text_from(on_text, user_data)); });
}

size_t mixtura_chat_message_count(const mixtura_chat* chat) noexcept {
    return chat == nullptr ? 0 : chat->chat.messages().size();
}

mixtura_status mixtura_chat_message(const mixtura_chat* chat, size_t index, mixtura_text* role,
                                    mixtura_text* content) noexcept {
    return guard([&] {
        const auto messages = of(chat).chat.messages();
        check_index(index, messages.size(), "index", "messages");
        if (role != nullptr) *role = {messages[index].role.data(), messages[index].role.size()};
        if (content != nullptr) *content = {messages[index].content.data(), messages[index].content.size()};
    });
}

mixtura_status mixtura_chat_truncate(mixtura_chat* chat, size_t message_count) noexcept {
    return guard([&] {
        const auto messages = of(chat).chat.messages();
        if (message_count > messages.size()) {
            fail(StatusCode::out_of_range, "message_count is " + std::to_string(message_count) + ", but there are " +
                                               std::to_string(messages.size()) + " messages");
        }
        std::vector<mixtura::ChatMessage> kept(messages.begin(),
                                               messages.begin() + static_cast<std::ptrdiff_t>(message_count));
        chat->chat.set_messages(std::move(kept));
    });
}

mixtura_status mixtura_chat_set_sampling(mixtura_chat* chat, const mixtura_sampling_options* sampling) noexcept {
    return guard([&] {
        mixtura::SamplingOptions ours = sampling_from(sampling);
        check(ours.check(of(chat).chat.generation().model().facts().vocabulary_size));
        chat->chat.set_sampling(std::move(ours));
    });
}

mixtura_status mixtura_chat_prompt(const mixtura_chat* chat, char* text, size_t capacity, size_t* needed) noexcept {
    return guard([&] { give_text(take(of(chat).chat.prompt()), text, capacity, needed); });
}

void mixtura_chat_cancel(mixtura_chat* chat) noexcept {
    if (chat != nullptr) chat->chat.cancel();
}

const mixtura_generation* mixtura_chat_generation(const mixtura_chat* chat) noexcept {
    return chat == nullptr ? nullptr : &chat->generation;
}

}  // extern "C"
