// Flags of the commands that compute but do not generate.
#pragma once

#include <mixtura/cache_dtypes.hpp>
#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mixtura::cli {

struct ComputeFlags {
    std::string model;
    int thread_count = 0;
    std::string weights = "keep";
    CacheDTypes cache_dtype;
};

// Of --weights, wherever a command has it.
inline constexpr const char* kWeightsHelp =
    "what 16- and 32-bit weights become: keep, mixed, a type as in q8_0, or by role as in experts=q4_k,attention=q6_k";

// MODEL, --threads, --weights and --cache-dtype.
void add_compute_flags(CLI::App& command, ComputeFlags& flags);

// --cache-dtype, one of cache_choices() by name.
void add_cache_dtype(CLI::App& command, CacheDTypes& dtypes);

// Numbers of the command line as token ids; OUT_OF_RANGE for one that no vocabulary could have.
Result<std::vector<TokenId>> token_ids(const std::vector<std::int64_t>& numbers);

}  // namespace mixtura::cli
