// Chat: a conversation with a Model, laid out by its chat template.  Text of the conversation can never become a turn
// marker (Tokenizer::encode_spans).
#pragma once

#include <mixtura/generation.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct ChatMessage {
    std::string role;     // "system", "user", "assistant", "tool"
    std::string content;  // UTF-8; bytes that are none become U+FFFD
};

struct ChatOptions {
    GenerationOptions generation = {};
    SamplingOptions sampling = {};  // unset fields: the model's defaults
    StopOptions stop = {};
    // As GenerationRequest::on_route, of every answer.
    std::function<Flow(std::int64_t position, std::int64_t layer, const RoutePlan& plan)> on_route = {};
    std::optional<ChatTemplate> chat_template = {};  // instead of the model's own
    // Further variables of the template as one JSON object: {"enable_thinking": false, "tools": [...]}.
    std::string variables_json = "{}";
    std::optional<CivilTime> now = {};  // for templates that show the date; else the system's clock in UTC
};

class Chat {
  public:
    // Errors: Generation::create's; NOT_FOUND where the model has no tokenizer or no chat template;
    // UNSUPPORTED for one with an encoder.
    static Result<Chat> create(const Model& model, const ChatOptions& options = {}) noexcept;

    Status add(std::string_view role, std::string_view content) noexcept;

    using OnText = std::function<Flow(std::string_view text)>;
    // Answers the conversation so far and adds the answer to it as the assistant's (also one that was cut off by the
    // callback, by cancel() or by a limit).  `on_text` gets each piece of whole UTF-8.  On failure the conversation is
    // as before.
    Result<GenerationResult> reply(const OnText& on_text = {}) noexcept;
    // Takes the last answer back and answers again, with the next completion number: another draw where sampling is on.
    // BAD_STATE where the last message is no answer.
    Result<GenerationResult> regenerate(const OnText& on_text = {}) noexcept;

    std::span<const ChatMessage> messages() const noexcept;
    void set_messages(std::vector<ChatMessage> messages) noexcept;  // replaces the conversation
    void set_sampling(SamplingOptions sampling) noexcept;

    // The prompt that reply() would feed, as text.
    Result<std::string> prompt() const noexcept;

    // Ends the reply that runs.  Threads: any-thread, and from a signal handler.
    void cancel() noexcept;

    const Generation& generation() const noexcept;

    // Threads, where nothing else is said: per-object.
    Chat(Chat&&) noexcept;
    Chat& operator=(Chat&&) noexcept;
    ~Chat();

    struct State;

  private:
    explicit Chat(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
