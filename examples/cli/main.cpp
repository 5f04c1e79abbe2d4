// mixtura: the command-line program.  It uses the public headers only.
// Exit codes: 0 done, 1 it failed (one sentence on stderr says why), 2 the command line is off, 130 interrupted.
#include <mixtura/version.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

#define MIXTURA_TEXT_(x) #x
#define MIXTURA_TEXT(x) MIXTURA_TEXT_(x)

namespace {

constexpr const char* kVersion = "mixtura " MIXTURA_TEXT(MIXTURA_VERSION_MAJOR) "." MIXTURA_TEXT(
    MIXTURA_VERSION_MINOR) "." MIXTURA_TEXT(MIXTURA_VERSION_PATCH);

int run(int argc, char** argv) {
    CLI::App app("Mixture-of-experts language models on your own machine.", "mixtura");
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    int exit_code = mixtura::cli::kExitOk;
    const auto complain_of_usage = [](const std::string& problem) {
        mixtura::cli::complain(problem + " (see 'mixtura --help')");
        return mixtura::cli::kExitUsage;
    };
    mixtura::cli::add_chat(app, exit_code);
    mixtura::cli::add_complete(app, exit_code);
    mixtura::cli::add_inspect(app, exit_code);
    mixtura::cli::add_tokenize(app, exit_code);
    mixtura::cli::add_detokenize(app, exit_code);
    mixtura::cli::add_template(app, exit_code);
    mixtura::cli::add_logits(app, exit_code);
    mixtura::cli::add_compare(app, exit_code);
    mixtura::cli::add_bench(app, exit_code);
    mixtura::cli::add_doctor(app, exit_code);
    // CLI11 itself would only say that a subcommand is required.
    const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
    const bool is_command = argc > 1 && argv[1][0] != '-';
    if (is_command && app.get_subcommands(is_named).empty())
        return complain_of_usage("there is no command '" + mixtura::cli::printable(argv[1]) + "'");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wish) {  // --help and --version
        return mixtura::cli::finish(app.exit(wish));
    } catch (const CLI::ParseError& problem) {
        return complain_of_usage(problem.what());
    }
    return mixtura::cli::finish(exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& problem) {
        return mixtura::cli::complain(problem.what());
    }
}
