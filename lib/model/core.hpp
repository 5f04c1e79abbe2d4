// A loaded model: its description, its weights in the layout of the back-end in force, and that back-end.  Immutable
// and shared; Model (the public object) and every generation hold a reference.
#pragma once

#include <mixtura/model.hpp>

#include <memory>

#include "formats/model_files.hpp"
#include "kernels/backend.hpp"
#include "model/spec.hpp"
#include "model/weights_of_model.hpp"

namespace mixtura {

struct ModelCore {
    std::string path;
    ModelFacts facts;
    GenerationDefaults generation;
    std::vector<std::string> warnings;
    ModelSpec spec;
    ModelWeights weights;
    WeightStore store;
    const Backend* backend = nullptr;

    static Result<std::shared_ptr<const ModelCore>> load(const std::string& path, ParallelFor& threads,
                                                         const LoadProgress& progress);
};

// What a model needs, from its headers alone.
struct RoleBytes {
    std::string role;  // without numbers: "layers.#.experts.gate.weight"
    std::uint64_t tensor_count = 0;
    std::uint64_t parameter_count = 0;
    std::uint64_t integer_parameter_count = 0;
    std::uint64_t size_bytes = 0;
};
struct WeightForecast {
    std::vector<RoleBytes> roles;
    TokenCost token;
};
Result<WeightForecast> predict_weights(const ModelFiles& files, const Architecture& architecture);

}  // namespace mixtura
