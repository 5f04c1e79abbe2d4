// mixtura bench: what the machine can do, what share of it the kernels and a model reach.
#include <mixtura/checkpoint.hpp>
#include <mixtura/machine.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/bench_kernels.hpp"
#include "cli/bench_model.hpp"
#include "cli/commands.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    ModelBenchOptions model;
    KernelBenchOptions kernels;
    bool has_machine = false;
    bool has_kernels = false;
    std::string html_path;
};

double rounded(double value, double unit) { return std::round(value / unit) * unit; }
double share_of(double value) { return std::round(value * 1000) / 1000; }

// The part of a checkpoint that says most about its disk.
Result<std::string> largest_file(const std::string& path) {
    const auto checkpoint = Checkpoint::open(path);
    if (!checkpoint) return checkpoint.status();
    const auto files = checkpoint->files();
    return std::max_element(
               files.begin(), files.end(),
               [](const CheckpointFile& a, const CheckpointFile& b) { return a.size_bytes < b.size_bytes; })
        ->path;
}

void print_machine(const MachineRates& rates, const std::optional<DiskRate>& disk, bool as_json) {
    if (as_json) {
        nlohmann::ordered_json machine = {{"threads", rates.thread_count},
                                          {"read_bytes_per_s", rounded(rates.read_bytes_per_s, 1e6)},
                                          {"integer_ops_per_s", rounded(rates.integer_ops_per_s, 1e6)},
                                          {"float_ops_per_s", rounded(rates.float_ops_per_s, 1e6)}};
        if (disk) {
            machine["disk_bytes_per_s"] = rounded(disk->bytes_per_s, 1e6);
            machine["disk_is_direct"] = disk->is_direct;
        }
        print(nlohmann::ordered_json({{"machine", machine}}).dump() + "\n");
        return;
    }
    std::vector<std::vector<std::string>> rows{
        {"machine", "rate", ""},
        {"B: memory, read", decimal(rates.read_bytes_per_s / 1e9, 1), "GB/s"},
        {"V: 8-bit integers", decimal(rates.integer_ops_per_s / 1e9, 0), "Gop/s"},
        {"F: f32", decimal(rates.float_ops_per_s / 1e9, 0), "Gop/s"}};
    if (disk) rows.push_back({"D: disk, read", decimal(disk->bytes_per_s / 1e9, 2), "GB/s"});
    print(table(rows, "1"));
    print("  " + std::to_string(rates.thread_count) + (rates.thread_count == 1 ? " thread\n" : " threads\n"));
    if (disk && !disk->is_direct)
        print("  D came through the page cache, for this file system takes no direct reads: memory may have helped\n");
    print_now("\n");
}

Status bench_kernels(const Options& options, const MachineRates& rates, std::vector<RooflinePoint>& points) {
    std::vector<std::vector<std::string>> rows{{"kernel", "tokens an expert", "Gop/s", "of V or F", "GB/s", "of B"}};
    const auto on_rate = [&](const KernelRate& rate) {
        const double compute = rate.compute_share(rates), reading = rate.bandwidth_share(rates);
        const std::string name(dtype_name(rate.format));
        points.push_back({name, std::to_string(rate.tokens) + " tokens an expert", rate.ops_per_byte, rate.ops_per_s,
                          std::max(compute, reading)});
        if (!options.model.as_json) {
            rows.push_back({name, std::to_string(rate.tokens), decimal(rate.ops_per_s / 1e9, 1),
                            decimal(100 * compute, 0) + " %", decimal(rate.bytes_per_s / 1e9, 2),
                            decimal(100 * reading, 0) + " %"});
            return;
        }
        const nlohmann::ordered_json line = {{"kernel", name},
                                             {"tokens_per_expert", rate.tokens},
                                             {"ops_per_s", rounded(rate.ops_per_s, 1e6)},
                                             {"compute_share", share_of(compute)},
                                             {"bytes_per_s", rounded(rate.bytes_per_s, 1e6)},
                                             {"bandwidth_share", share_of(reading)}};
        print_now(line.dump() + "\n");
    };
    const Status status = measure_kernels(options.kernels, on_rate);
    if (status.is_ok() && !options.model.as_json) print_now(table(rows, "12345") + "\n");
    return status;
}

Status write_file(const std::string& path, const std::string& content) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool is_written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file != nullptr && std::fclose(file) != 0) is_written = false;
    if (is_written) return {};
    return Status(StatusCode::io, "cannot write '" + printable(path) + "': " + std::strerror(errno));
}

Status bench(Options options) {
    const bool has_model = !options.model.compute.model.empty();
    const bool has_rates = options.has_machine || options.has_kernels || !options.html_path.empty();
    std::optional<MachineRates> rates;
    std::vector<RooflinePoint> points;
    if (has_rates) {
        std::optional<DiskRate> disk;
        if (has_model && options.has_machine) {
            const auto file = largest_file(options.model.compute.model);
            if (!file) return file.status();
            const auto measured = measure_disk(*file);
            if (!measured) return measured.status();
            disk = *measured;
        }
        const auto measured = measure_machine(options.model.compute.thread_count);
        if (!measured) return measured.status();
        rates = *measured;
        print_machine(*rates, disk, options.model.as_json);
    }
    if (options.has_kernels) {
        options.kernels.thread_count = options.model.compute.thread_count;
        options.kernels.repeat_count = options.model.repeat_count;
        if (Status status = bench_kernels(options, *rates, points); !status.is_ok()) return status;
    }
    if (has_model) {
        if (Status status = bench_model(options.model, rates, points); !status.is_ok()) return status;
    }
    if (options.html_path.empty()) return {};
    const std::string title = has_model ? "mixtura bench, " + options.model.compute.model : "mixtura bench";
    return write_file(options.html_path, roofline_html(title, *rates, points));
}

void add_kernel_flags(CLI::App& command, Options& options) {
    command.add_flag("--kernels", options.has_kernels,
                     "how fast experts of each format multiply, beside the machine's rates");
    std::vector<std::string> names;
    for (const DType format : options.kernels.formats) names.emplace_back(dtype_name(format));
    command
        .add_option_function<std::vector<std::string>>(
            "--formats",
            [&options](const std::vector<std::string>& chosen) {
                options.kernels.formats.clear();
                for (const std::string& name : chosen) options.kernels.formats.push_back(dtype_from_name(name));
            },
            "of --kernels; all where nothing is said")
        ->check(CLI::IsMember(names));
    command.add_option("--tokens-per-expert", options.kernels.tokens_per_expert, "of --kernels, as in 1 8 32")
        ->check(CLI::Range(1, 4096));
    command.add_option("--megabytes", options.kernels.megabytes, "of --kernels: weights of a format to go through")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("bench", "Tokens per second on random tokens, and the machine's own rates");
    const auto options = std::make_shared<Options>();
    ModelBenchOptions& model = options->model;
    add_compute_flags(*command, model.compute);
    command->get_option("MODEL")->required(false);  // --machine and --kernels need none
    const CLI::Range tokens(std::int64_t{0}, std::int64_t{1} << 24);
    command->add_option("--prefill", model.prefill_tokens, "tokens of the prompt; 0: no such test")
        ->check(tokens)
        ->capture_default_str();
    command->add_option("--decode", model.decode_tokens, "tokens of the answer; 0: no such test")
        ->check(tokens)
        ->capture_default_str();
    command->add_option("--batch", model.batch_sizes, "numbers of sequences to decode together, as in 1 8 32")
        ->check(CLI::Range(1, 4096));
    command->add_option("--repeat", model.repeat_count, "runs after the one that warms up; their median is told")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_flag("--json", model.as_json, "one JSON object a test and line");
    command->add_flag("--profile", model.has_profile, "where the time of the last run went, by operation");
    command->add_flag(
        "--machine", options->has_machine,
        "the machine's own rates (with a MODEL its disk's too), and each test's share of what they allow");
    add_kernel_flags(*command, *options);
    command->add_option("--html", options->html_path, "write a chart of the run beneath the machine's rates");
    command->callback([options, &exit_code] {
        if (options->model.compute.model.empty() && !options->has_machine && !options->has_kernels)
            throw CLI::RequiredError("MODEL, --machine or --kernels");
        const Status status = bench(*options);
        exit_code = status.is_ok() ? kExitOk : complain(status);
    });
}

}  // namespace mixtura::cli
