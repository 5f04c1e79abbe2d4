// mixtura doctor [PATH]: is this machine fit for this build, and does this build compute what it should.
#include <mixtura/doctor.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    HealthOptions health;
    bool as_json = false;
};

std::string count_of(const std::vector<HealthCheck>& checks, HealthVerdict verdict) {
    const auto count = std::count_if(checks.begin(), checks.end(),
                                     [verdict](const HealthCheck& check) { return check.verdict == verdict; });
    return std::to_string(count) + " " + std::string(verdict_name(verdict)) + (count == 1 ? "" : "s");
}

void print_json(const HealthCheck& check) {
    const nlohmann::ordered_json line = {{"check", check.name},
                                         {"verdict", verdict_name(check.verdict)},
                                         {"found", check.found},
                                         {"remedy", check.remedy}};
    print(line.dump() + "\n");
}

int report(const Options& options) {
    const auto checks = check_health(options.health);
    if (!checks) return complain(checks.status());
    for (const HealthCheck& check : *checks) {
        if (options.as_json) {
            print_json(check);
            continue;
        }
        const auto line = health_line(check);
        if (!line) return complain(line.status());
        print((check.verdict == HealthVerdict::failure ? bold(*line) : *line) + "\n");
    }
    if (!options.as_json) {
        print(count_of(*checks, HealthVerdict::failure) + ", " + count_of(*checks, HealthVerdict::warning) + ", " +
              count_of(*checks, HealthVerdict::note) + "\n");
    }
    return worst_verdict(*checks) == HealthVerdict::failure ? kExitFailure : kExitOk;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("doctor", "Whether this machine is fit, and computes what it should; remedies");
    const auto options = std::make_shared<Options>();
    options->health.tries_filtered_calls = true;  // at worst this program ends, and nobody else's
    command->add_option("PATH", options->health.path, "a model's file or folder, or a folder: its disk is checked too");
    command->add_flag("--json", options->as_json, "one JSON object a check and line");
    command->callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace mixtura::cli
