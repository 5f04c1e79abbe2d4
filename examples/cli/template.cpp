// mixtura template (MODEL | --template FILE): a conversation as the prompt a model's chat template makes of it.
#include <mixtura/chat_template.hpp>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    std::string model, template_path, messages, now, name = "default";
};

int render(const Options& options) {
    const auto layout =
        ChatTemplate::open(options.template_path.empty() ? options.model : options.template_path, options.name);
    if (!layout) return complain(layout.status());
    std::ifstream file(options.messages, std::ios::binary);
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    if (!file && json.empty()) return complain("cannot read '" + printable(options.messages) + "'");
    TemplateInput input;
    input.json = json;
    if (!options.now.empty()) {
        const auto time = CivilTime::parse(options.now);
        if (!time) return complain(time.status());
        input.now = *time;
    }
    const auto prompt = layout->render(input);
    if (!prompt) return complain(prompt.status());
    print(prompt->text());
    return kExitOk;
}

}  // namespace

void add_template(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("template", "A conversation as the prompt that a chat template makes of it");
    const auto options = std::make_shared<Options>();
    auto* model = command->add_option("MODEL", options->model, "a .gguf file, a folder or a tokenizer_config.json");
    auto* path = command->add_option("--template", options->template_path, "a template's own file")->excludes(model);
    command->add_option("--name", options->name, "which of several templates (default, tool_use, rag)");
    command
        ->add_option("--messages", options->messages,
                     "a file with one JSON object: messages, tools, bos_token and other variables")
        ->required();
    command->add_option("--now", options->now, "the time for templates that show it: 2026-07-04T12:30");
    command->callback([options, model, path, &exit_code] {
        if (model->count() + path->count() == 0) throw CLI::RequiredError("MODEL or --template");
        exit_code = render(*options);
    });
}

}  // namespace mixtura::cli
