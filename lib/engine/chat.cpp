#include <mixtura/chat.hpp>

#include "base/error.hpp"
#include "formats/model_config.hpp"

namespace mixtura {

struct Chat::State {
    Generation generation;
    ChatOptions options;
    Tokenizer tokenizer;
    ChatTemplate layout;
    std::vector<TemplateVariable> trusted;
    std::vector<ChatMessage> messages;
    std::uint64_t completion = 0;  // counts answers to the same conversation

    Result<RenderedPrompt> render() const;
    Result<GenerationResult> reply(const OnText& on_text);
};

namespace {

// {"messages": [{"role": …, "content": …}, …], <the caller's own variables>}
Result<std::string> variables_text(const std::vector<ChatMessage>& messages, const std::string& variables) {
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument own, JsonDocument::parse(variables, "the template's variables"));
    if (!own.root().is_object()) {
        return error(StatusCode::invalid_argument, "the template's variables are no JSON object");
    }
    std::string out = "{\"messages\":[";
    for (std::size_t i = 0; i < messages.size(); ++i) {
        out += text(i == 0 ? "" : ",", "{\"role\":", json_quoted(messages[i].role),
                    ",\"content\":", json_quoted(messages[i].content), "}");
    }
    out += ']';
    for (const auto [key, value] : own.root().members()) {
        if (key == "messages")
            return error(StatusCode::invalid_argument,
                         "the template's variables hold 'messages', which the chat itself gives");
        out += text(",", json_quoted(key), ":", canonical_json(value));
    }
    return out += '}';
}

}  // namespace

Result<Chat> Chat::create(const Model& model, const ChatOptions& options) noexcept {
    return without_exceptions([&]() -> Result<Chat> {
        if (model.has_encoder()) {
            return error(StatusCode::unsupported, "a chat continues what was said, but ", model.facts().architecture,
                         " writes about a source, expected a model without an encoder");
        }
        if (!model.tokenizer()) {
            return error(StatusCode::not_found,
                         "the model has no tokenizer to chat with: ", model.tokenizer().status().message());
        }
        if (!options.chat_template && !model.chat_template()) {
            return error(StatusCode::not_found,
                         "the model has no chat template: ", model.chat_template().status().message());
        }
        MIXTURA_RETURN_IF_ERROR(variables_text({}, options.variables_json).status());
        MIXTURA_ASSIGN_OR_RETURN(Generation generation, Generation::create(model, options.generation));
        const Tokenizer& tokenizer = *model.tokenizer();
        State state{std::move(generation),
                    options,
                    tokenizer,
                    options.chat_template ? *options.chat_template : *model.chat_template(),
                    {},
                    {}};
        const auto trust = [&](const char* name, TokenId id) {
            if (id != kNoToken) state.trusted.push_back({name, std::string(tokenizer.token_text(id))});
        };
        trust("bos_token", tokenizer.special_tokens().bos);
        trust("eos_token", tokenizer.special_tokens().eos);
        return Chat(std::make_unique<State>(std::move(state)));
    });
}

Result<RenderedPrompt> Chat::State::render() const {
    MIXTURA_ASSIGN_OR_RETURN(const std::string variables, variables_text(messages, options.variables_json));
    TemplateInput input;
    input.json = variables;
    input.trusted = trusted;
    input.trusted_roles = {"system", "user", "assistant", "tool"};
    input.add_generation_prompt = true;
    input.now = options.now;
    return layout.render(input);
}

Result<GenerationResult> Chat::State::reply(const OnText& on_text) {
    MIXTURA_ASSIGN_OR_RETURN(const RenderedPrompt prompt, render());
    std::vector<TextSpan> spans;
    for (const PromptSpan& span : prompt.spans) spans.push_back({span.text, span.is_from_template});
    GenerationRequest request;
    MIXTURA_ASSIGN_OR_RETURN(request.prompt, tokenizer.encode_spans(spans));
    request.sampling = options.sampling;
    request.sampling.completion = completion;
    request.stop = options.stop;
    request.on_route = options.on_route;
    request.on_piece = [&](const Piece& piece) {
        return piece.text.empty() || !on_text ? Flow::go_on : on_text(piece.text);
    };
    MIXTURA_ASSIGN_OR_RETURN(GenerationResult result, generation.generate(request));
    messages.push_back({"assistant", result.text});
    return result;
}

Result<GenerationResult> Chat::reply(const OnText& on_text) noexcept {
    return without_exceptions([&]() -> Result<GenerationResult> {
        state_->completion = 0;
        return state_->reply(on_text);
    });
}

Result<GenerationResult> Chat::regenerate(const OnText& on_text) noexcept {
    return without_exceptions([&]() -> Result<GenerationResult> {
        std::vector<ChatMessage>& messages = state_->messages;
        if (messages.empty() || messages.back().role != "assistant") {
            return error(StatusCode::bad_state, "the last message is no answer, so there is nothing to answer again");
        }
        ChatMessage before = std::move(messages.back());
        messages.pop_back();
        ++state_->completion;
        Result<GenerationResult> result = state_->reply(on_text);
        if (!result) messages.push_back(std::move(before));
        return result;
    });
}

Status Chat::add(std::string_view role, std::string_view content) noexcept {
    return without_exceptions([&]() -> Status {
        if (role.empty()) return error(StatusCode::invalid_argument, "a message has no role");
        state_->messages.push_back({std::string(role), std::string(content)});
        return {};
    });
}

Result<std::string> Chat::prompt() const noexcept {
    return without_exceptions([&]() -> Result<std::string> {
        MIXTURA_ASSIGN_OR_RETURN(const RenderedPrompt rendered, state_->render());
        return rendered.text();
    });
}

std::span<const ChatMessage> Chat::messages() const noexcept { return state_->messages; }
void Chat::set_messages(std::vector<ChatMessage> messages) noexcept { state_->messages = std::move(messages); }
void Chat::set_sampling(SamplingOptions sampling) noexcept { state_->options.sampling = std::move(sampling); }
void Chat::cancel() noexcept { state_->generation.cancel(); }
const Generation& Chat::generation() const noexcept { return state_->generation; }

Chat::Chat(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Chat::Chat(Chat&&) noexcept = default;
Chat& Chat::operator=(Chat&&) noexcept = default;
Chat::~Chat() = default;

}  // namespace mixtura
