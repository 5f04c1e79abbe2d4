// What a model is, as data: the forward pass (forward.cpp) reads nothing else.  A family's file in arch/ turns a
// configuration into a ModelSpec and a WeightMap; a new family is a new file there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "weights/source.hpp"

namespace mixtura {

enum class NormKind { none, rms, layer };
struct NormSpec {
    NormKind kind = NormKind::none;
    float epsilon = 0.0F;
};

// Rotary embedding, its scaling folded into frequencies and magnitude (fixed per model, or per sequence where a scaling
// hangs on the length).
struct RopeSpec {
    RopePairing pairing = RopePairing::half;
    std::vector<float> inverse_frequencies;  // [rotated width / 2]
    float magnitude = 1.0F;                  // multiplies cosines and sines (YaRN's attention factor)
    WeightSource factors;                    // GGUF's rope_freqs: divides the frequencies, read at load
};

enum class PositionKind {
    none,  // this layer knows no positions
    rope,
    alibi,
    learned,  // in the embedding, not in the layers
};

struct AttentionSpec {
    std::int64_t query_heads = 0, kv_heads = 0;
    std::int64_t key_width = 0, value_width = 0;  // D of one head
    float scale = 1.0F;                           // q · k times this
    PositionKind position = PositionKind::rope;
    int rope = 0;                    // index into ModelSpec::ropes
    NormSpec query_norm, key_norm;   // over each head, before the rotation
    std::int64_t window_tokens = 0;  // 0: all before
};

struct DenseSpec {
    std::int64_t width = 0;
    GatedActivation activation;
    bool is_gated = true;  // act(gate) · up, else act(up)
};

struct LayerSpec {
    NormSpec attention_norm, ffn_norm;
    AttentionSpec attention;
    DenseSpec ffn;
};

struct ModelSpec {
    std::string architecture;
    std::int64_t hidden_size = 0;
    std::int64_t vocabulary_size = 0;
    std::int64_t context_tokens = 0;
    std::int64_t learned_positions = 0;  // rows of the position table; 0: none
    NormSpec embedding_norm, final_norm;
    std::vector<RopeSpec> ropes;
    std::vector<LayerSpec> layers;
};

// ---- where the weights of a spec lie
// ------------------------------------------------------------------------------------

struct LinearSource {
    WeightSource weight, bias;
};
struct NormSource {
    WeightSource weight, bias;
};

struct LayerMap {
    NormSource attention_norm, ffn_norm;
    LinearSource query, key, value, output;
    NormSource query_norm, key_norm;
    LinearSource gate, up, down;
};

struct WeightMap {
    WeightSource token_embedding, position_embedding;
    NormSource embedding_norm, final_norm;
    LinearSource head;  // the token embedding's tensor where the two are tied
    std::vector<LayerMap> layers;
};

struct Architecture {
    ModelSpec spec;
    WeightMap map;
    std::vector<std::string> warnings;  // configuration keys nobody read
};

}  // namespace mixtura
