// Flags and steps that every command that computes has in common.
#pragma once

#include <mixtura/model.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mixtura::cli {

struct ComputeFlags {
    std::string model;
    int thread_count = 0;
    DType cache_dtype = DType::f16;
};

// MODEL, --threads and --cache-dtype.
void add_compute_flags(CLI::App& command, ComputeFlags& flags);

// Opens the model and passes its warnings on.
Result<Model> open_model(const ComputeFlags& flags);

// Numbers of the command line as token ids; OUT_OF_RANGE for one that no vocabulary could have.
Result<std::vector<TokenId>> token_ids(const std::vector<std::int64_t>& numbers);

}  // namespace mixtura::cli
