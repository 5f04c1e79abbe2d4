#include "cli/generate_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "cli/compute_flags.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace mixtura::cli {
namespace {

Result<LogitBias> parse_bias(const std::string& text) {
    LogitBias bias;
    const std::size_t equals = text.find('=');
    const char* end = text.data() + text.size();
    if (equals != std::string::npos) {
        const auto id = std::from_chars(text.data(), text.data() + equals, bias.token);
        if (id.ec == std::errc() && id.ptr == text.data() + equals) {
            const auto value = std::from_chars(text.data() + equals + 1, end, bias.bias);
            if (value.ec == std::errc() && value.ptr == end) return bias;
        }
    }
    return Status(StatusCode::invalid_argument,
                  "--logit-bias '" + printable(text) + "' is not ID=VALUE, such as 42=-1.5 or 42=-inf");
}

std::string fixed(double value, int decimals) {
    char digits[64];
    const auto [end, failure] =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
    return std::string(digits, end);
}

}  // namespace

void add_generate_flags(CLI::App& command, GenerateFlags& flags) {
    command.add_option("--temperature", flags.temperature, "0: always the likeliest token");
    command.add_option("--top-k", flags.top_k, "keep the k likeliest tokens; 0: all");
    command.add_option("--top-p", flags.top_p, "keep the likeliest that together reach p");
    command.add_option("--min-p", flags.min_p, "keep tokens of at least p times the likeliest's probability");
    command.add_option("--typical-p", flags.typical_p, "keep the most typical that together reach p");
    command.add_option("--repetition-penalty", flags.repetition_penalty,
                       "above 1: tokens of prompt and answer become less likely");
    command.add_option("--presence-penalty", flags.presence_penalty,
                       "taken off the logit of every token in the answer");
    command.add_option("--frequency-penalty", flags.frequency_penalty, "the same, times how often it is there");
    command.add_option("--no-repeat-ngram", flags.no_repeat_ngram, "no run of n tokens comes twice; 0: off");
    command.add_option("--logit-bias", flags.logit_bias,
                       "ID=VALUE, added to a token's logit; may be given more than once");
    command.add_option("--logprobs", flags.logprobs,
                       "log-probabilities of the chosen and the n likeliest tokens (with --json)");
    command.add_option("--seed", flags.seed, "of the random draws; the same seed gives the same answer");
    command.add_option("--max-tokens", flags.max_tokens, "the longest answer");
    command.add_option("--stop", flags.stop, "text that ends the answer; may be given more than once");
    command.add_option("--threads", flags.threads, "0: as many as this process may keep busy");
    command.add_option("--context", flags.context, "the longest sequence in tokens; 0: the model's own");
    command.add_option("--weights", flags.weights, kWeightsHelp)->capture_default_str();
    add_cache_dtype(command, flags.cache_dtype);
}

Result<SamplingOptions> GenerateFlags::sampling() const {
    SamplingOptions options;
    options.temperature = temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    options.min_p = min_p;
    options.typical_p = typical_p;
    options.repetition_penalty = repetition_penalty;
    options.presence_penalty = presence_penalty;
    options.frequency_penalty = frequency_penalty;
    options.no_repeat_ngram = no_repeat_ngram;
    options.logprobs = logprobs;
    options.seed = seed;
    for (const std::string& text : logit_bias) {
        auto bias = parse_bias(text);
        if (!bias) return bias.status();
        options.logit_bias.push_back(*bias);
    }
    return options;
}

StopOptions GenerateFlags::stop_options() const {
    StopOptions options;
    options.strings = stop;
    options.max_tokens = max_tokens;
    return options;
}

Result<GenerationOptions> GenerateFlags::generation() const {
    GenerationOptions options;
    options.thread_count = threads;
    options.context_tokens = context;
    options.cache_dtype = cache_dtype;
    return options;
}

Result<Model> open_model(const std::string& path, int threads, const std::string& weights) {
    ModelOptions options;
    auto mix = parse_weight_mix(weights);
    if (!mix) return mix.status();
    options.weights = *std::move(mix);
    options.thread_count = threads;
    std::optional<Progress> progress;
    options.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
        if (!progress) progress.emplace("Loading", static_cast<std::int64_t>(total));
        progress->show(static_cast<std::int64_t>(done));
        return Flow::go_on;
    };
    auto model = Model::open(path, options);
    progress.reset();
    if (!model) return model;
    for (const std::string& warning : model->warnings()) warn(warning);
    return model;
}

std::string default_model_path() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string folder =
        cache != nullptr && *cache != '\0' ? std::string(cache) : std::string(home != nullptr ? home : "") + "/.cache";
    return folder + "/mixtura/SmolLM2-8x135M-Instruct.Q8_0.gguf";
}

std::string speed_text(const GenerationResult& result) {
    const auto tokens = static_cast<double>(result.tokens.size());
    std::string out = grouped(result.tokens.size()) + " tokens";
    if (result.decode_seconds > 0) out += ", " + fixed(tokens / result.decode_seconds, 1) + " tokens/s";
    out += ", first token after " + fixed(result.prefill_seconds, 2) + " s (prompt of " +
           grouped(static_cast<std::uint64_t>(result.prompt_tokens)) + " tokens, " +
           grouped(static_cast<std::uint64_t>(result.reused_tokens)) + " from the cache)";
    return out;
}

}  // namespace mixtura::cli
