#include <mixtura/chat_template.hpp>

#include "base/error.hpp"
#include "formats/json.hpp"
#include "tokenizer/template/calendar.hpp"
#include "tokenizer/template/chat_template_state.hpp"
#include "tokenizer/template/data_values.hpp"
#include "tokenizer/template/find_template.hpp"
#include "tokenizer/template/interpreter.hpp"
#include "tokenizer/template/parser.hpp"
#include "tokenizer/template/resolve.hpp"

namespace mixtura {
namespace {

// A parsed node takes up to 300 bytes and a source can make one of two bytes, so this holds a program under 50 MB;
// published templates stay under 30 kB.
constexpr std::size_t kSourceBytesMax = 256U << 10;

Status check_source(std::string_view source) {
    if (source.size() > kSourceBytesMax) {
        return error(StatusCode::invalid_argument, "the chat template holds ", source.size(),
                     " bytes, expected at most ", kSourceBytesMax);
    }
    JinjaPosition at;
    for (std::string_view rest = source; !rest.empty();) {
        const std::size_t length = utf8_sequence_bytes(rest);
        if (length == 0) return Status(StatusCode::invalid_argument, jinja_message(at, "the source is not UTF-8"));
        at.column = rest[0] == '\n' ? 1 : at.column + 1;
        at.line += rest[0] == '\n' ? 1 : 0;
        rest.remove_prefix(length);
    }
    return {};
}

// The caller's object; its faults are the caller's, not a file's.
Result<JsonDocument> read_variables(std::string_view json) {
    Result<JsonDocument> document = JsonDocument::parse(json, "the chat template's variables");
    if (!document) {
        const StatusCode code = document.status().code() == StatusCode::corrupt_file ? StatusCode::invalid_argument
                                                                                     : document.status().code();
        return Status(code, std::string(document.status().message()));
    }
    if (!document->root().is_object()) {
        return error(StatusCode::invalid_argument,
                     "the chat template's variables are no JSON object, expected one with 'messages'");
    }
    return document;
}

// In order of who wins: what the host vouches for, its data, the model's own tokens.
bool collect_variables(JinjaRun& run, const TemplateInput& input, JsonValue root,
                       std::span<const TemplateVariable> tokens, std::vector<JinjaNamedValue>& variables) {
    const auto push_text = [&](const TemplateVariable& variable) {
        JinjaNamedValue& named = variables.emplace_back();
        named.name = variable.name;
        return jinja_borrow(run, variable.value, true, named.value);
    };
    for (const TemplateVariable& variable : input.trusted) {
        if (!push_text(variable)) return false;
    }
    if (input.add_generation_prompt) {
        variables.push_back({"add_generation_prompt", jinja_boolean(*input.add_generation_prompt, true)});
    }
    if (!jinja_variables_of(run, root, input.trusted_roles, variables)) return false;
    for (const TemplateVariable& token : tokens) {
        if (!push_text(token)) return false;
    }
    return true;
}

RenderedPrompt spans_of(const JinjaTextStore* store) {
    RenderedPrompt prompt;
    std::size_t begin = 0;
    for (std::uint32_t i = 0; store != nullptr && i < store->run_count; ++i) {
        const JinjaTextRun& piece = store->runs[i];
        prompt.spans.push_back({std::string(store->bytes + begin, piece.end - begin), piece.is_trusted});
        begin = piece.end;
    }
    return prompt;
}

}  // namespace

Result<std::shared_ptr<ChatTemplate::State>> parse_chat_template(std::string_view source) {
    MIXTURA_RETURN_IF_ERROR(check_source(source));
    MIXTURA_ASSIGN_OR_RETURN(std::vector<JinjaToken> tokens, jinja_tokens(source));
    MIXTURA_ASSIGN_OR_RETURN(JinjaProgram program, JinjaParser(std::move(tokens)).run());
    MIXTURA_RETURN_IF_ERROR(resolve_jinja_names(program));
    auto state = std::make_shared<ChatTemplate::State>();
    state->source = source;
    state->program = std::move(program);
    return state;
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) noexcept {
    return without_exceptions([&]() -> Result<ChatTemplate> {
        MIXTURA_ASSIGN_OR_RETURN(std::shared_ptr<State> state, parse_chat_template(source));
        return ChatTemplate(std::move(state));
    });
}

Result<ChatTemplate> ChatTemplate::open(const std::string& path, std::string_view name) noexcept {
    return without_exceptions([&]() -> Result<ChatTemplate> {
        MIXTURA_ASSIGN_OR_RETURN(FoundChatTemplate found, find_chat_template(path, name));
        Result<std::shared_ptr<State>> state = parse_chat_template(found.source);
        if (!state) {
            const StatusCode code = state.status().code();
            return error(code == StatusCode::invalid_argument ? StatusCode::corrupt_file : code,
                         quoted(found.where, 400), ": ", state.status().message());
        }
        (*state)->special_tokens = std::move(found.special_tokens);
        return ChatTemplate(*std::move(state));
    });
}

Result<RenderedPrompt> ChatTemplate::render(const TemplateInput& input) const noexcept {
    return without_exceptions([&]() -> Result<RenderedPrompt> {
        const CivilTime now = input.now ? *input.now : system_time_utc();
        if (!is_valid_civil_time(now))
            return error(StatusCode::invalid_argument, "the time given as 'now' does not exist");
        MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, read_variables(input.json));
        JinjaRun run(input.limits, now);
        std::vector<JinjaNamedValue> variables;
        if (!collect_variables(run, input, document.root(), state_->special_tokens, variables)) return run.failure();
        JinjaTextBuilder prompt(run, input.limits.output_bytes_max);
        if (!JinjaInterpreter(run, state_->program, variables).render(prompt)) return run.failure();
        return spans_of(prompt.store());
    });
}

std::string_view ChatTemplate::source() const noexcept { return state_->source; }

std::span<const TemplateVariable> ChatTemplate::special_tokens() const noexcept { return state_->special_tokens; }

std::string RenderedPrompt::text() const {
    std::string whole;
    for (const PromptSpan& span : spans) whole += span.text;
    return whole;
}

}  // namespace mixtura
