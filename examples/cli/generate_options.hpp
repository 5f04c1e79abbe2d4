// Flags that every generating command shares.
#pragma once

#include <mixtura/cache_dtypes.hpp>
#include <mixtura/chat.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mixtura::cli {

struct GenerateFlags {
    std::optional<float> temperature, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty;
    std::optional<std::int32_t> top_k, no_repeat_ngram, logprobs;
    std::optional<std::uint64_t> seed;
    std::optional<std::int64_t> max_tokens;
    std::vector<std::string> stop, logit_bias;  // bias: "ID=VALUE"
    int threads = 0;
    std::int64_t context = 0;
    CacheDTypes cache_dtype;
    std::string weights = "keep";

    Result<SamplingOptions> sampling() const;
    StopOptions stop_options() const;
    Result<GenerationOptions> generation() const;
};

void add_generate_flags(CLI::App& command, GenerateFlags& flags);

// Opens a model with a progress bar on stderr where that is a terminal, and prints its warnings there.
// `weights`: as parse_weight_mix() reads it.
Result<Model> open_model(const std::string& path, int threads, const std::string& weights = "keep");

// The path of the default model in the user's cache folder.
std::string default_model_path();

// "12.3 tokens/s, first token after 0.45 s, 18 tokens of 42 from the cache"
std::string speed_text(const GenerationResult& result);

}  // namespace mixtura::cli
