// ChatTemplate: the prompt layout a model was trained with, as its publisher wrote it in Jinja, and what it makes of a
// conversation.  The result says of every character whether the template or the caller's data put it there, so that a
// tokenizer can refuse turn markers that a user typed.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

// A date and a time of day without a time zone, in the proleptic Gregorian calendar; what strftime_now() shows.
struct CivilTime {
    std::int32_t year = 1970;  // 1 to 9999
    std::int32_t month = 1;    // 1 to 12
    std::int32_t day = 1;      // 1 to the month's last
    std::int32_t hour = 0;
    std::int32_t minute = 0;
    std::int32_t second = 0;
    std::int32_t microsecond = 0;

    // "2026-07-04", "2026-07-04T12:30", "2026-07-04 12:30:15.25"; INVALID_ARGUMENT for anything else, time zones and
    // days that do not exist included.  Threads: any-thread.
    static Result<CivilTime> parse(std::string_view iso) noexcept;
};

// What one rendering may use before it ends with BUDGET_EXCEEDED.  The defaults hold a prompt of several million
// tokens.
struct TemplateLimits {
    std::uint64_t steps_max = 5'000'000;        // evaluated nodes, and 64 bytes of text or one element handled
    std::size_t output_bytes_max = 16U << 20;   // of the prompt
    std::size_t memory_bytes_max = 256U << 20;  // everything the rendering allocates; at most 1 GiB counts
    // Nested evaluations, at most 4000 count: one takes about 300 bytes of stack.  A macro that calls itself takes four
    // to ten of them.
    std::size_t depth_max = 1000;
};

struct TemplateVariable {
    std::string name;
    std::string value;
};

struct TemplateInput {
    // One JSON object: "messages", "tools" and whatever else the template asks for ("enable_thinking").  All of it is
    // data.
    std::string_view json = "{}";
    // Texts the host vouches for, bos_token among them: they count as the template's own and win over `json`.
    std::vector<TemplateVariable> trusted;
    // Roles that, spelled exactly so in messages[i].role, count as the template's own.  Some templates build a marker
    // from the role ('<|' + role + '|>'); with "user" and "assistant" here such a marker is the template's in one
    // piece.
    std::vector<std::string> trusted_roles;
    std::optional<bool> add_generation_prompt;  // wins over `json`
    std::optional<CivilTime> now;               // for strftime_now; without it the system's clock in UTC
    TemplateLimits limits;
};

// Neighbouring spans differ in origin, and no span is empty.
struct PromptSpan {
    std::string text;
    bool is_from_template = false;
};

struct RenderedPrompt {
    std::vector<PromptSpan> spans;
    std::string text() const;  // the spans one after another
};

class ChatTemplate {
  public:
    // INVALID_ARGUMENT with line and column for a broken template, UNSUPPORTED for tags that need other files
    // (include). Threads: any-thread.
    static Result<ChatTemplate> parse(std::string_view source) noexcept;

    // `path` is a checkpoint folder, a GGUF file, a tokenizer_config.json or chat_template.json, or the template itself
    // (any other file).  `name` chooses among named templates ("tool_use", "rag").  Also takes the texts of the model's
    // special tokens (bos_token …) where the place states them.  NOT_FOUND where there is no such template (and says
    // which there are), CORRUPT_FILE for a broken one.  Threads: any-thread.
    static Result<ChatTemplate> open(const std::string& path, std::string_view name = "default") noexcept;

    // INVALID_ARGUMENT when the template refuses the input with raise_exception (its words are in the message), when it
    // fails on it, or when `json` is no JSON object; BUDGET_EXCEEDED at a limit.  Text passes through byte by byte; a
    // byte that is no valid UTF-8 (possible in trusted values only) counts as one character.  Threads: any-thread.
    Result<RenderedPrompt> render(const TemplateInput& input) const noexcept;

    std::string_view source() const noexcept;
    // Names and texts as found by open(); each rendering sees them, after `trusted` and `json`.
    std::span<const TemplateVariable> special_tokens() const noexcept;

    struct State;
    explicit ChatTemplate(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

  private:
    std::shared_ptr<const State> state_;  // shared by copies; immutable
};

}  // namespace mixtura
