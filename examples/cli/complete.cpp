// mixtura complete MODEL: continues a text or a list of token ids; a model with an encoder reads them as its source,
// and fills the blanks in it.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"
#include "cli/result_json.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    std::string model;
    std::string prompt;
    std::vector<TokenId> ids;
    bool as_json = false;
    GenerateFlags flags;
};

int complete(const Options& options) {
    const auto generation_options = options.flags.generation();
    if (!generation_options) return complain(generation_options.status());
    auto sampling = options.flags.sampling();
    if (!sampling) return complain(sampling.status());
    const auto model = open_model(options.model, options.flags.threads, options.flags.weights);
    if (!model) return complain(model.status());
    GenerationRequest request;
    request.prompt = options.ids;
    if (options.ids.empty()) {
        if (!model->tokenizer()) return complain(model->tokenizer().status());
        auto ids = model->tokenizer()->encode(options.prompt);
        if (!ids) return complain(ids.status());
        request.prompt = *std::move(ids);
    }
    request.sampling = *std::move(sampling);
    request.stop = options.flags.stop_options();
    std::vector<Sampled> chosen;
    request.on_piece = [&](const Piece& piece) {
        if (!options.as_json) {
            // What is written about a source names its blanks, which are special tokens.
            if (model->has_encoder() && model->tokenizer() && model->tokenizer()->is_special(piece.sampled.token))
                print_now(printable(model->tokenizer()->token_text(piece.sampled.token)));
            print_now(piece.text);
        }
        if (options.as_json) chosen.push_back(piece.sampled);
        return Flow::go_on;
    };
    auto generation = Generation::create(*model, *generation_options);
    if (!generation) return complain(generation.status());
    const auto result = generation->generate(request);
    if (!result) return complain(result.status());
    if (options.as_json)
        print(result_json(*result, chosen).dump() + "\n");
    else
        print("\n");
    return kExitOk;
}

}  // namespace

void add_complete(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("complete", "Continues a text, without a chat template");
    const auto options = std::make_shared<Options>();
    command->add_option("MODEL", options->model, "a .gguf file or a checkpoint's folder")->required();
    auto* prompt =
        command->add_option("--prompt", options->prompt,
                            "the text to continue, or with blanks as the model knows them: 'The <extra_id_0> barks.'");
    auto* ids =
        command->add_option("--ids", options->ids, "token ids to continue: 1,2,3")->delimiter(',')->excludes(prompt);
    command->add_flag("--json", options->as_json, "one JSON object");
    add_generate_flags(*command, options->flags);
    command->callback([options, prompt, ids, &exit_code] {
        if (prompt->count() + ids->count() == 0) throw CLI::RequiredError("--prompt or --ids");
        exit_code = complete(*options);
    });
}

}  // namespace mixtura::cli
