// mixtura chat [MODEL]: a conversation on the terminal, or one answer with -p.
#include <mixtura/chat.hpp>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/expert_map.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/interrupt.hpp"
#include "cli/line_editor.hpp"
#include "cli/output.hpp"
#include "cli/result_json.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    std::string model, prompt, system, template_path;
    std::vector<std::string> variables;  // NAME=VALUE
    bool as_json = false;
    bool with_stats = false;
    GenerateFlags flags;
};

constexpr const char* kHelp =
    "  /help          this list\n"
    "  /reset         forget the conversation\n"
    "  /system TEXT   forget it and set a system message\n"
    "  /regen         take the last answer back and answer again\n"
    "  /save FILE     write the conversation as JSON\n"
    "  /load FILE     read one back\n"
    "  /stats         figures of the last answer\n"
    "  /experts       which experts the last answer went through, layer by layer\n"
    "  /exit          leave (Ctrl-D too); Ctrl-C stops an answer\n";

// --set NAME=VALUE as the template's variables: VALUE is JSON where it reads as JSON (true, 3, [..]), else text.
Result<std::string> variables_json(const std::vector<std::string>& settings) {
    nlohmann::json out = nlohmann::json::object();
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0) {
            return Status(StatusCode::invalid_argument, "--set '" + printable(setting) + "' is not NAME=VALUE");
        }
        const std::string value = setting.substr(equals + 1);
        const auto parsed = nlohmann::json::parse(value, nullptr, false);
        out[setting.substr(0, equals)] = parsed.is_discarded() ? nlohmann::json(value) : parsed;
    }
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Session {
  public:
    Session(Chat& chat, const Options& options) : chat_(chat), options_(options) {
        on_interrupt([](void* chat_pointer) { static_cast<Chat*>(chat_pointer)->cancel(); }, &chat_);
        start_over(options_.system);
    }

    // One answer to -p.
    int answer_once() {
        (void)chat_.add("user", options_.prompt);
        const auto result = chat_.reply([&](std::string_view text) {
            if (!options_.as_json) print_now(text);
            return Flow::go_on;
        });
        if (!result) return complain(result.status());
        if (options_.as_json)
            print(result_json(*result, {}).dump() + "\n");
        else
            print("\n");
        if (options_.with_stats) warn_stats(*result);
        return result->reason == FinishReason::cancelled ? kExitInterrupted : kExitOk;
    }

    int converse() {
        LineEditor editor;
        if (editor.is_terminal()) print("Type a message, or /help.\n");
        while (true) {
            const LineEditor::Line line = editor.read(bold("> "));
            if (line.end == LineEditor::End::interrupted) {
                (void)take_interrupt();
                print("\n");
                continue;
            }
            if (line.end == LineEditor::End::input_ended) {
                if (editor.is_terminal()) print("\n");
                return kExitOk;
            }
            if (line.text.empty()) continue;
            if (line.text[0] == '/') {
                if (!command(line.text)) return kExitOk;
                continue;
            }
            (void)chat_.add("user", line.text);
            if (!show(chat_.reply(streaming()))) drop_last_message();
        }
    }

  private:
    Chat::OnText streaming() {
        return [](std::string_view text) {
            print_now(text);
            return Flow::go_on;
        };
    }

    bool show(const Result<GenerationResult>& result) {
        if (!result) {
            (void)complain(result.status());
            return false;
        }
        print(result->reason == FinishReason::cancelled ? " [stopped]\n" : "\n");
        (void)take_interrupt();
        if (result->reason == FinishReason::context_full) warn("the context is full; /reset starts a new conversation");
        last_ = *result;
        has_last_ = true;
        if (options_.with_stats) warn_stats(last_);
        return true;
    }

    void warn_stats(const GenerationResult& result) {
        print_now("");
        std::fputs((figures(result) + "\n").c_str(), stderr);
    }

    std::string figures(const GenerationResult& result) const {
        const auto forecast = Model::forecast(chat_.generation().model().path(), 1);
        return speed_text(result) +
               (forecast ? ", " + human_count(forecast->token.multiplied_parameters) + " active parameters" : "");
    }

    void start_over(const std::string& system) {
        chat_.set_messages({});
        if (!system.empty()) (void)chat_.add("system", system);
        has_last_ = false;
    }

    void drop_last_message() {
        std::vector<ChatMessage> messages(chat_.messages().begin(), chat_.messages().end());
        messages.pop_back();
        chat_.set_messages(std::move(messages));
    }

    // False: leave.
    bool command(const std::string& text) {
        const std::size_t space = text.find(' ');
        const std::string name = text.substr(0, space),
                          argument = space == std::string::npos ? "" : text.substr(space + 1);
        if (name == "/exit" || name == "/quit") return false;
        if (name == "/help")
            print(kHelp);
        else if (name == "/reset")
            start_over(options_.system);
        else if (name == "/system")
            start_over(argument);
        else if (name == "/regen")
            (void)show(chat_.regenerate(streaming()));
        else if (name == "/stats")
            print(has_last_ ? "  " + figures(last_) + "\n" : "  nothing was answered yet\n");
        else if (name == "/experts")
            print(expert_map(chat_.generation().expert_load(), map_style()));
        else if (name == "/save" || name == "/load")
            file_command(name, argument);
        else
            (void)complain("there is no command '" + printable(name) + "'; /help lists them");
        return true;
    }

    void file_command(const std::string& name, const std::string& path) {
        if (path.empty()) {
            (void)complain(name + " needs a file's name");
            return;
        }
        const Status status = name == "/save" ? save(path) : load(path);
        if (!status.is_ok())
            (void)complain(status);
        else
            print("  " + std::string(name == "/save" ? "saved " : "loaded ") + std::to_string(chat_.messages().size()) +
                  " messages\n");
    }

    Status save(const std::string& path) const {
        nlohmann::ordered_json messages = nlohmann::ordered_json::array();
        for (const ChatMessage& message : chat_.messages())
            messages.push_back({{"role", message.role}, {"content", message.content}});
        std::ofstream file(path, std::ios::binary);
        file << messages.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
        if (file.flush()) return {};
        return Status(StatusCode::io, "cannot write '" + printable(path) + "'");
    }

    Status load(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(file), {}};
        if (!file && content.empty()) return Status(StatusCode::not_found, "cannot read '" + printable(path) + "'");
        const auto parsed = nlohmann::json::parse(content, nullptr, false);
        std::vector<ChatMessage> messages;
        bool is_good = parsed.is_array();
        for (std::size_t i = 0; is_good && i < parsed.size(); ++i) {
            const auto& entry = parsed[i];
            is_good = entry.is_object() && entry.contains("role") && entry["role"].is_string() &&
                      entry.contains("content") && entry["content"].is_string();
            if (is_good) messages.push_back({entry["role"], entry["content"]});
        }
        if (!is_good) {
            return Status(
                StatusCode::corrupt_file,
                "'" + printable(path) + "' is no saved conversation, expected a JSON list of {\"role\", \"content\"}");
        }
        chat_.set_messages(std::move(messages));
        has_last_ = false;
        return {};
    }

    Chat& chat_;
    const Options& options_;
    GenerationResult last_;
    bool has_last_ = false;
};

int run_chat(const Options& options) {
    const auto generation = options.flags.generation();
    if (!generation) return complain(generation.status());
    auto sampling = options.flags.sampling();
    if (!sampling) return complain(sampling.status());
    auto variables = variables_json(options.variables);
    if (!variables) return complain(variables.status());
    const std::string path = options.model.empty() ? default_model_path() : options.model;
    if (options.model.empty() && !std::ifstream(path)) {
        return complain("the default model is not there yet ('" + printable(path) +
                        "'); run ./examples/run once, or name a MODEL");
    }
    const auto model = open_model(path, options.flags.threads, options.flags.weights);
    if (!model) return complain(model.status());
    ChatOptions chat_options;
    chat_options.generation = *generation;
    chat_options.sampling = *std::move(sampling);
    chat_options.stop = options.flags.stop_options();
    chat_options.variables_json = *std::move(variables);
    if (!options.template_path.empty()) {
        auto layout = ChatTemplate::open(options.template_path);
        if (!layout) return complain(layout.status());
        chat_options.chat_template = *std::move(layout);
    }
    auto chat = Chat::create(*model, chat_options);
    if (!chat) return complain(chat.status());
    Session session(*chat, options);
    return options.prompt.empty() ? session.converse() : session.answer_once();
}

}  // namespace

void add_chat(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("chat", "Talks with a model on the terminal");
    const auto options = std::make_shared<Options>();
    command->add_option("MODEL", options->model, "a .gguf file or a checkpoint's folder; without it the default model");
    command->add_option("-p,--prompt", options->prompt, "one message; prints the answer and ends");
    command->add_option("--system", options->system, "a system message");
    command->add_option("--template", options->template_path, "a chat template instead of the model's own");
    command->add_option("--set", options->variables,
                        "NAME=VALUE, a variable of the template; may be given more than once");
    command->add_flag("--json", options->as_json, "with -p: one JSON object");
    command->add_flag("--stats", options->with_stats, "speed after each answer, on stderr");
    add_generate_flags(*command, options->flags);
    command->callback([options, &exit_code] { exit_code = run_chat(*options); });
}

}  // namespace mixtura::cli
