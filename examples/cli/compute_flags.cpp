#include "cli/compute_flags.hpp"

#include <CLI/CLI.hpp>
#include <limits>

namespace mixtura::cli {

void add_compute_flags(CLI::App& command, ComputeFlags& flags) {
    command.add_option("MODEL", flags.model, "a .gguf or .safetensors file, or a checkpoint's folder")->required();
    command.add_option("--threads", flags.thread_count, "threads that compute; 0: as many as there are cores to use")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    command.add_option("--weights", flags.weights, kWeightsHelp)->capture_default_str();
    add_cache_dtype(command, flags.cache_dtype);
}

void add_cache_dtype(CLI::App& command, CacheDTypes& dtypes) {
    std::vector<std::string> names;
    for (const CacheChoice& choice : cache_choices()) names.emplace_back(choice.name);
    command
        .add_option_function<std::string>(
            "--cache-dtype",
            [&dtypes](const std::string& name) { dtypes = cache_dtypes_from_name(name).value_or(dtypes); },
            "of keys and values, or keys+values: f16 where nothing is said; q8 and f8 take about half of it")
        ->check(CLI::IsMember(names));
}

Result<std::vector<TokenId>> token_ids(const std::vector<std::int64_t>& numbers) {
    std::vector<TokenId> ids;
    for (const std::int64_t number : numbers) {
        if (number < 0 || number > std::numeric_limits<TokenId>::max()) {
            return Status(StatusCode::out_of_range,
                          "token " + std::to_string(number) + " is in no vocabulary, expected 0 or more");
        }
        ids.push_back(static_cast<TokenId>(number));
    }
    return ids;
}

}  // namespace mixtura::cli
