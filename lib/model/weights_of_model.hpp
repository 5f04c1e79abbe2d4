// The views a forward pass reads, one field a role, and the bindings that fill them from a WeightMap.
#pragma once

#include <vector>

#include "experts/mixture.hpp"
#include "kernels/layout.hpp"
#include "model/spec.hpp"
#include "router/route.hpp"
#include "weights/weight_store.hpp"

namespace mixtura {

struct Linear {
    PackedMatrix weight;          // [out, in]
    const float* bias = nullptr;  // [out], or nullptr
    bool is_present() const noexcept { return weight.data != nullptr; }
};
struct Norm {
    const float* weight = nullptr;
    const float* bias = nullptr;
};

struct LatentWeights {
    Linear query_down, row_down;
    Norm query_norm, row_norm;
    std::vector<PackedMatrix> key_up, value_up;  // per head
};

struct HeadMixtureWeights {
    GateView router;
    std::vector<PackedMatrix> query, output;  // per expert
};

struct RecurrentWeights {
    Linear gate, rate, decay;
    const float* convolution = nullptr;  // [taps, channels]
    const float *decay_factor = nullptr, *decay_bias = nullptr;
    Norm output_norm;
};

struct CrossWeights {
    Norm norm;
    Linear query, key, value, output;
};

struct LayerWeights {
    Norm attention_norm, ffn_norm, query_norm, key_norm, attention_output_norm, ffn_output_norm;
    Linear query, key, value, output, output_gate;
    const float* sinks = nullptr;          // [query heads]
    const float* position_bias = nullptr;  // [buckets, query heads]
    CrossWeights cross;
    LatentWeights latent;
    HeadMixtureWeights heads;
    RecurrentWeights recurrent;
    Linear gate, up, down;
    GateView router;
    std::vector<ExpertView> experts;
    ExpertView shared;
    PackedMatrix shared_gate;

    MixtureView mixture() const noexcept { return {experts, shared, shared_gate}; }
};

struct RopeFactors {
    const float *usual = nullptr, *of_long = nullptr;  // [rotated width / 2]; nullptr: none
};

struct ModelWeights {
    PackedMatrix token_embedding;     // [V, H] in file rows; tied: the head's panels
    PackedMatrix position_embedding;  // [positions, H] in file rows; no data: none
    bool is_tied = false;             // one matrix, held once, is token embedding and head
    Norm embedding_norm, encoder_norm, final_norm;
    Linear head;
    std::vector<LayerWeights> layers;
    std::vector<RopeFactors> rope_factors;  // per ModelSpec::ropes
};

// Everything `map` names, with the shapes `spec` asks for; the views in `weights` are filled when the bindings are
// loaded, so it must stay where it is until then.
std::vector<WeightBinding> bind_weights(const ModelSpec& spec, const WeightMap& map, ModelWeights& weights);

}  // namespace mixtura
