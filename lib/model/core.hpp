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
    std::vector<WeightError> weight_errors;  // of what was quantised
    std::vector<NodeMemory> nodes;           // of the store; empty: one node
    const Backend* backend = nullptr;

    static Result<std::shared_ptr<const ModelCore>> load(const std::string& path, ParallelFor& threads,
                                                         const LoadProgress& progress, const Placement& placement = {},
                                                         const WeightMix& mix = {});
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
    std::vector<NodeMemory> nodes;  // empty: one node
};
Result<WeightForecast> predict_weights(const ModelFiles& files, const Architecture& architecture,
                                       const Topology& topology = {}, const WeightMix& mix = {});

// Bytes by node of the topology, under the system's numbers; none where there is one node.
std::vector<NodeMemory> memory_of_nodes(const Topology& topology, std::span<const std::uint64_t> bytes);

}  // namespace mixtura
