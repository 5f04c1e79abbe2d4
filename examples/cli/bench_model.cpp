#include "cli/bench_model.hpp"

#include <mixtura/batch.hpp>
#include <mixtura/generation.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"
#include "cli/step_cost.hpp"

namespace mixtura::cli {
namespace {

// As the peer script has them: what each sequence of a batch holds before the clock starts, and the steps timed.
constexpr std::int64_t kBatchPromptTokens = 32, kBatchSteps = 16;

struct Measured {
    std::string test;
    double tokens_per_s = 0;
    int run_count = 0;
    int thread_count = 0;
    std::int64_t prompt_tokens = 0;  // 0: not said
    std::int64_t sequence_count = 0;
    StepCost cost;  // of a run; zeros where there are no rates to compare it with
    std::optional<LimitShare> limit = {};
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
    // `rates` and `cost`: both or neither.
    Bench(const Model& model, const ModelBenchOptions& options, const MachineRates* rates, const ModelCost* cost,
          std::vector<RooflinePoint>& points)
        : model_(model), options_(options), rates_(rates), cost_(cost), points_(points) {
        if (rates != nullptr) rows_[0].insert(rows_[0].end(), {"limit", "of it"});
    }

    Status run() {
        Status status = learn_vocabulary();
        if (status.is_ok() && options_.prefill_tokens > 0) status = prefill();
        if (status.is_ok() && options_.decode_tokens > 0) status = decode();
        for (const std::int64_t sequences : options_.batch_sizes) {
            if (status.is_ok()) status = batched_decode(sequences);
        }
        if (status.is_ok() && !options_.as_json) print(profiles_ + table(rows_, "12346") + note());
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

    // The cost of some steps, if it is asked for.
    template <class Steps>
    StepCost summed(const Steps& steps) const {
        StepCost sum;
        if (cost_ != nullptr) steps([&](const auto&... step) { sum += cost_->step(step...); });
        return sum;
    }

    std::string note() const {
        if (cost_ == nullptr) return {};
        std::string text = "  limit: (integer ops / V + f32 ops / F) or bytes / B, whichever takes longer";
        if (cost_->has_experts())
            text += ";\n  bytes: of the experts that tokens reach if each chooses uniformly, E (1 - (1 - K/E)^n)";
        return text + "\n";
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
        if (rates_ != nullptr) add_limit(median, result);
        report(result);
        if (options_.has_profile) report_profile(result);
        return {};
    }

    void add_limit(double seconds, Measured& result) {
        result.limit = limit_share(result.cost, *rates_, seconds);
        const double ops = result.cost.integer_ops + result.cost.float_ops;
        const std::string label = result.sequence_count > 0  ? grouped_count(result.sequence_count) + " sequences"
                                  : result.prompt_tokens > 0 ? grouped_count(result.prompt_tokens) + " tokens"
                                                             : "one sequence";
        points_.push_back(
            {result.test, label, ops / std::max(result.cost.bytes, 1.0), ops / seconds, result.limit->share});
    }

    static std::string grouped_count(std::int64_t count) { return grouped(static_cast<std::uint64_t>(count)); }

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
        const std::int64_t tokens = options_.prefill_tokens, chunk = GenerationOptions().step_tokens;
        const StepCost cost = summed([&](const auto& add) {
            for (std::int64_t done = 0; done < tokens; done += chunk) {
                const std::int64_t now = std::min(chunk, tokens - done);
                add(std::int64_t{1}, now, done, std::int64_t{done + now == tokens ? 1 : 0});
            }
        });
        return measure({"prefill", 0, 0, generation->thread_count(), tokens, 0, cost}, tokens, prepare, timed);
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
        const StepCost cost = summed([&](const auto& add) {
            for (std::int64_t i = 0; i < options_.decode_tokens; ++i) add(1, 1, i + 1, 1);
        });
        return measure({"decode", 0, 0, generation->thread_count(), 0, 0, cost}, options_.decode_tokens, prepare,
                       timed);
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
        const StepCost cost = summed([&](const auto& add) {
            for (std::int64_t i = 0; i < kBatchSteps; ++i) add(sequences, 1, kBatchPromptTokens + i, sequences);
        });
        return measure({"batched_decode", 0, 0, batch->thread_count(), 0, sequences, cost}, sequences * kBatchSteps,
                       prepare, timed);
    }

    // With --json a line as soon as it is known; a table needs them all.
    void report(const Measured& result) {
        if (!options_.as_json) {
            const auto amount = [](std::int64_t count) { return count > 0 ? grouped_count(count) : std::string(); };
            const std::int64_t context = result.test == "decode" ? options_.decode_tokens : result.prompt_tokens;
            rows_.push_back({result.test, amount(context), amount(result.sequence_count),
                             decimal(result.tokens_per_s, result.tokens_per_s < 100 ? 2 : 0),
                             std::to_string(result.thread_count)});
            if (result.limit) {
                rows_.back().push_back(std::string(result.limit->limit));
                rows_.back().push_back(decimal(100 * result.limit->share, 0) + " %");
            }
            return;
        }
        nlohmann::ordered_json line = {{"peer", "mixtura"},
                                       {"test", result.test},
                                       {"tokens_per_s", std::round(result.tokens_per_s * 1000) / 1000},
                                       {"runs", result.run_count},
                                       {"threads", result.thread_count}};
        if (result.prompt_tokens > 0) line["prompt"] = result.prompt_tokens;
        if (result.sequence_count > 0) line["sequences"] = result.sequence_count;
        if (result.limit) {
            line["limit"] = result.limit->limit;
            line["share"] = std::round(result.limit->share * 1000) / 1000;
        }
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
        for (const std::size_t op : order) {
            if (op_times_.seconds[op] <= 0) continue;
            const double ms = op_times_.seconds[op] * 1000 / static_cast<double>(op_times_.steps);
            rows.push_back({std::string(op_name(static_cast<Op>(op))), decimal(ms, 3),
                            decimal(100 * op_times_.seconds[op] / total, 1) + " %"});
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
    const ModelBenchOptions& options_;
    const MachineRates* rates_;
    const ModelCost* cost_;
    std::vector<RooflinePoint>& points_;
    OpTimes op_times_;
    std::string profiles_;
    std::size_t vocabulary_ = 0;
    std::vector<std::vector<std::string>> rows_{{"test", "tokens", "sequences", "tokens/s", "threads"}};
};

}  // namespace

Status bench_model(const ModelBenchOptions& options, const std::optional<MachineRates>& rates,
                   std::vector<RooflinePoint>& points) {
    const auto model = open_model(options.compute.model, options.compute.thread_count, options.compute.weights);
    if (!model) return model.status();
    std::optional<ModelCost> cost;
    if (rates) {
        const auto mix = parse_weight_mix(options.compute.weights);
        if (!mix) return mix.status();
        auto found = ModelCost::of(options.compute.model, model->facts(), options.compute.cache_dtype, *mix);
        if (!found) return found.status();
        cost = *found;
    }
    return Bench(*model, options, rates ? &*rates : nullptr, cost ? &*cost : nullptr, points).run();
}

}  // namespace mixtura::cli
