// mixtura bench MODEL: tokens per second of prefill, decode and batched decode, measured as
// tests/bench/peer_llama_cpp.py measures its peer, so that the two lines can stand side by side.
#include <mixtura/batch.hpp>
#include <mixtura/generation.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "cli/commands.hpp"
#include "cli/compute_flags.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    ComputeFlags compute;
    std::int64_t prefill_tokens = 512;
    std::int64_t decode_tokens = 64;
    std::vector<std::int64_t> batch_sizes;
    int repeat_count = 3;
    bool as_json = false;
    bool has_profile = false;
};

// As the peer script has them: what each sequence of a batch holds before the clock starts, and the steps timed.
constexpr std::int64_t kBatchPromptTokens = 32, kBatchSteps = 16;

struct Measured {
    std::string test;
    double tokens_per_s = 0;
    int run_count = 0;
    int thread_count = 0;
    std::int64_t prompt_tokens = 0;  // 0: not said
    std::int64_t sequence_count = 0;
};

// Random tokens from a fixed seed, by the engine alone: the standard's distributions differ between libraries.
class RandomTokens {
  public:
    explicit RandomTokens(std::size_t vocabulary) : vocabulary_(vocabulary) {}
    std::vector<TokenId> next(std::int64_t count) {
        std::vector<TokenId> tokens;
        for (std::int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(engine_() % vocabulary_));
        return tokens;
    }

  private:
    std::mt19937_64 engine_{0};
    std::uint64_t vocabulary_;
};

class Bench {
  public:
    Bench(const Model& model, const Options& options) : model_(model), options_(options) {}

    Status run() {
        Status status = learn_vocabulary();
        if (status.is_ok() && options_.prefill_tokens > 0) status = prefill();
        if (status.is_ok() && options_.decode_tokens > 0) status = decode();
        for (const std::int64_t sequences : options_.batch_sizes) {
            if (status.is_ok()) status = batched_decode(sequences);
        }
        if (status.is_ok() && !options_.as_json) print(profiles_ + table(rows_, "1234"));
        return status;
    }

  private:
    GenerationOptions generation_options(std::int64_t context_tokens) {
        GenerationOptions how;
        how.thread_count = options_.compute.thread_count;
        how.cache_dtype = options_.compute.cache_dtype;
        how.context_tokens = context_tokens;
        if (options_.has_profile) how.op_times = &op_times_;
        return how;
    }

    // The width of the logits is what ids may be drawn from; a file's facts need not say it.
    Status learn_vocabulary() {
        auto generation = Generation::create(model_, generation_options(1));
        if (!generation) return generation.status();
        const TokenId first = 0;
        if (Status status = generation->feed({&first, 1}); !status.is_ok()) return status;
        vocabulary_ = generation->logits().size();
        return {};
    }

    // Runs `prepare` and, on the clock, `timed`: once to warm up, then as often as asked.  The median is what counts.
    Status measure(Measured result, std::int64_t tokens, const std::function<Status()>& prepare,
                   const std::function<Status()>& timed) {
        std::vector<double> seconds;
        for (int i = 0; i <= options_.repeat_count; ++i) {
            if (Status status = prepare(); !status.is_ok()) return status;
            op_times_ = {};
            const auto begin = std::chrono::steady_clock::now();
            if (Status status = timed(); !status.is_ok()) return status;
            if (i > 0)
                seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(seconds.begin(), seconds.end());
        const double median = (seconds[seconds.size() / 2] + seconds[(seconds.size() - 1) / 2]) / 2;
        result.tokens_per_s = static_cast<double>(tokens) / median;
        result.run_count = options_.repeat_count;
        report(result);
        if (options_.has_profile) report_profile(result);
        return {};
    }

    Status prefill() {
        auto generation = Generation::create(model_, generation_options(options_.prefill_tokens));
        if (!generation) return generation.status();
        RandomTokens random(vocabulary_);
        std::vector<TokenId> prompt;
        const auto prepare = [&] {
            prompt = random.next(options_.prefill_tokens);
            return generation->truncate(0);
        };
        const auto timed = [&] { return generation->feed(prompt); };
        return measure({"prefill", 0, 0, generation->thread_count(), options_.prefill_tokens, 0},
                       options_.prefill_tokens, prepare, timed);
    }

    Status decode() {
        auto generation = Generation::create(model_, generation_options(options_.decode_tokens + 1));
        if (!generation) return generation.status();
        RandomTokens random(vocabulary_);
        std::vector<TokenId> tokens;
        const auto prepare = [&] {
            if (Status status = generation->truncate(0); !status.is_ok()) return status;
            tokens = random.next(options_.decode_tokens);
            return generation->feed(random.next(1));
        };
        const auto timed = [&] {
            for (const TokenId token : tokens) {
                if (Status status = generation->feed({&token, 1}); !status.is_ok()) return status;
            }
            return Status();
        };
        return measure({"decode", 0, 0, generation->thread_count(), 0, 0}, options_.decode_tokens, prepare, timed);
    }

    Status batched_decode(std::int64_t sequences) {
        auto batch = Batch::create(model_, generation_options(kBatchPromptTokens + kBatchSteps), sequences);
        if (!batch) return batch.status();
        RandomTokens random(vocabulary_);
        std::vector<float> logits(static_cast<std::size_t>(sequences) * vocabulary_);
        const auto steps = [&](std::int64_t count, std::span<float> row_logits) {
            for (std::int64_t i = 0; i < count; ++i) {
                if (Status status = batch->step(random.next(sequences), row_logits); !status.is_ok()) return status;
            }
            return Status();
        };
        const auto prepare = [&] {
            const Status status = batch->reset();
            return status.is_ok() ? steps(kBatchPromptTokens, {}) : status;
        };
        const auto timed = [&] { return steps(kBatchSteps, logits); };
        return measure({"batched_decode", 0, 0, batch->thread_count(), 0, sequences}, sequences * kBatchSteps, prepare,
                       timed);
    }

    // With --json a line as soon as it is known; a table needs them all.
    void report(const Measured& result) {
        if (!options_.as_json) {
            const auto amount = [](std::int64_t count) {
                return count > 0 ? grouped(static_cast<std::uint64_t>(count)) : std::string();
            };
            char digits[64];
            const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, result.tokens_per_s,
                                                      std::chars_format::fixed, result.tokens_per_s < 100 ? 2 : 0);
            const std::int64_t context = result.test == "decode" ? options_.decode_tokens : result.prompt_tokens;
            rows_.push_back({result.test, amount(context), amount(result.sequence_count), std::string(digits, end),
                             std::to_string(result.thread_count)});
            return;
        }
        nlohmann::ordered_json line = {{"peer", "mixtura"},
                                       {"test", result.test},
                                       {"tokens_per_s", std::round(result.tokens_per_s * 1000) / 1000},
                                       {"runs", result.run_count},
                                       {"threads", result.thread_count}};
        if (result.prompt_tokens > 0) line["prompt"] = result.prompt_tokens;
        if (result.sequence_count > 0) line["sequences"] = result.sequence_count;
        print(line.dump() + "\n");
    }

    // Of the last run: where its time went, the longest first.
    void report_profile(const Measured& result) {
        const double total = op_times_.total_seconds();
        std::vector<std::size_t> order(kOpCount);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return op_times_.seconds[a] > op_times_.seconds[b]; });
        std::vector<std::vector<std::string>> rows{{result.test, "ms a step", "share"}};
        const auto number = [](double value, int digits) {
            char text[64];
            const auto [end, failure] =
                std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
            return std::string(text, end);
        };
        for (const std::size_t op : order) {
            if (op_times_.seconds[op] <= 0) continue;
            const double ms = op_times_.seconds[op] * 1000 / static_cast<double>(op_times_.steps);
            rows.push_back({std::string(op_name(static_cast<Op>(op))), number(ms, 3),
                            number(100 * op_times_.seconds[op] / total, 1) + " %"});
        }
        if (options_.as_json) {
            nlohmann::ordered_json line = {{"profile", result.test}, {"steps", op_times_.steps}};
            for (const std::size_t op : order) line[std::string(op_name(static_cast<Op>(op)))] = op_times_.seconds[op];
            print(line.dump() + "\n");
        } else {
            profiles_ += table(rows, "12") + "\n";
        }
    }

    const Model& model_;
    const Options& options_;
    OpTimes op_times_;
    std::string profiles_;
    std::size_t vocabulary_ = 0;
    std::vector<std::vector<std::string>> rows_{{"test", "tokens", "sequences", "tokens/s", "threads"}};
};

int bench(const Options& options) {
    const auto model = open_model(options.compute.model, options.compute.thread_count);
    if (!model) return complain(model.status());
    const Status status = Bench(*model, options).run();
    return status.is_ok() ? kExitOk : complain(status);
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("bench", "Tokens per second, on random tokens");
    const auto options = std::make_shared<Options>();
    add_compute_flags(*command, options->compute);
    const CLI::Range tokens(std::int64_t{0}, std::int64_t{1} << 24);
    command->add_option("--prefill", options->prefill_tokens, "tokens of the prompt; 0: no such test")
        ->check(tokens)
        ->capture_default_str();
    command->add_option("--decode", options->decode_tokens, "tokens of the answer; 0: no such test")
        ->check(tokens)
        ->capture_default_str();
    command->add_option("--batch", options->batch_sizes, "numbers of sequences to decode together, as in 1 8 32")
        ->check(CLI::Range(1, 4096));
    command->add_option("--repeat", options->repeat_count, "runs after the one that warms up; their median is told")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_flag("--json", options->as_json, "one JSON object a test and line");
    command->add_flag("--profile", options->has_profile, "where the time of the last run went, by operation");
    command->callback([options, &exit_code] { exit_code = bench(*options); });
}

}  // namespace mixtura::cli
