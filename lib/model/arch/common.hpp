// What several families share: the sizes, attention and rotary embeddings that Llama's configuration states, mixtures,
// and the tensor names of the two file formats.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_files.hpp"
#include "model/arch/config_reader.hpp"
#include "model/spec.hpp"

namespace mixtura {

// Rotary embedding of the first `rotated_width` elements of a head as the configuration states it: default, linear,
// llama3, yarn, longrope, dynamic.  Another scaling is refused by name.
struct RopeOptions {
    RopePairing pairing = RopePairing::half;
    bool is_yarn_truncated = true;  // where the configuration does not say (GGUF): corrections at whole dimensions
};
RopeSpec read_rope(ConfigReader& reader, std::int64_t rotated_width, const RopeOptions& options);
// What GGUF keeps of a scaling in tensors: one set of divisors, or LongRoPE's two.
void read_gguf_rope_factors(ConfigReader& reader, const WeightIndex& index, RopeSpec& rope);

// 1 / theta^(2i / rotated_width) in f32, as the owners' code rounds it; an even width and a positive theta, else empty.
std::vector<float> plain_frequencies(double theta, std::int64_t rotated_width);

// What YaRN's mscale_all_dim makes of 1 in the scale of attention scores: mscale², or 1.
float yarn_score_factor(ConfigReader& reader);

// Sizes, RMS norms, grouped-query attention and gated SiLU as Llama's configuration states them: what most families
// start from.  Adds one rope to the spec.  Families change what differs and push `layer` as often as there are layers.
struct LlamaBase {
    ModelSpec spec;
    LayerSpec layer;
    std::int64_t layer_count = 0;
    bool is_tied = false;
    float epsilon = 0.0F;
};
struct BaseOptions {
    RopeOptions rope = {};
    std::int64_t head_width = 0;   // 0: as stated, or hidden size by heads
    ConfigKey rotated_width = {};  // a key that states it, besides partial_rotary_factor and rope.dimension_count
};
LlamaBase read_llama_base(ConfigReader& reader, const WeightIndex& index, const BaseOptions& options = {});

// A mixture with the sizes stated under these keys, softmax routing, gated SiLU experts; a family changes the rest.
struct MixtureKeys {
    ConfigKey expert_count, top_k, width;
};
MixtureSpec read_mixture(ConfigReader& reader, const ModelSpec& spec, const MixtureKeys& keys);
inline constexpr std::string_view kGgufExperts = "expert_count", kGgufTopK = "expert_used_count",
                                  kGgufWidth = "expert_feed_forward_length";
// GGUF's expert_gating_func: 1 softmax, 2 sigmoid, 3 softmax of the chosen.
void read_gguf_scoring(ConfigReader& reader, RouterPolicy& policy);

// Sources by name; optional tensors (biases) only where the index has them.
struct TensorNames {
    const WeightIndex& index;
    WeightSource tensor(std::string name) const;         // absent where the file has none
    LinearSource linear(const std::string& stem) const;  // <stem>.weight and <stem>.bias
    NormSource norm(const std::string& stem) const;
};

// Where experts 0 .. count - 1 lie, as `map` says of each.  Stops behind the first that the files do not hold, which is
// then refused by its tensor's name: what a configuration claims costs no more than what there is.
std::vector<ExpertMap> map_experts(const WeightIndex& index, std::int64_t count,
                                   const std::function<ExpertMap(std::int64_t)>& map);

// The two halves of a [2F, H] matrix `stem`input_linear and the [H, F] of output_linear behind it (Granite, JetMoE); of
// one expert, or, -1, of a matrix alone.
ExpertMap fused_expert(const std::string& stem, std::int64_t expert, std::int64_t width);

// A slice of a fused projection's rows, weight and bias alike.
LinearSource with_rows(LinearSource fused, RowPattern rows);

// The output head: its own tensor, or the token embedding's where the two are tied.
LinearSource head_or_embedding(const WeightIndex& index, std::string_view head, const WeightSource& embedding,
                               bool is_tied);

// The heads' matrices of latent attention out of one [heads · (plain + value), rank] tensor; as map_experts, of no more
// heads than it has rows for and one.
void split_latent_heads(const WeightIndex& index, const std::string& tensor, const AttentionSpec& attention,
                        LatentMap& map);

// Every GGUF file uses the same names ("blk.3.attn_q.weight"), mixtures and latent attention included.
WeightMap gguf_map(const WeightIndex& index, const ModelSpec& spec);

// Families with Llama's layout share its names on the hub; `prefix` stands in front of "embed_tokens" and "layers".
WeightMap hub_llama_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied,
                        const std::string& prefix = "model.");

// The mixture of one layer below `stem` ("model.layers.3.mlp."), one tensor an expert and matrix.
struct HubMixtureNames {
    std::string_view router = "gate";
    std::string_view selection_bias = {};                                     // whole name below the stem
    std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";  // below "experts.7."
    std::string_view shared = {};       // "shared_experts"; its matrices are always gate_proj, up_proj, down_proj
    std::string_view shared_gate = {};  // "shared_expert_gate"
};
MixtureMap hub_mixture(const TensorNames& names, const std::string& stem, const MixtureSpec& spec,
                       const HubMixtureNames& parts);

// What families with Llama's layout end with: the names of their tensors in either format, those of the mixtures below
// "layers.3.<block>." on the hub, and warnings for what nobody read.  `spec` has its layers.
Architecture complete_architecture(ConfigReader& reader, const WeightIndex& index, ModelSpec spec, bool is_tied,
                                   std::string_view block, const HubMixtureNames& parts);

// What a list of words says of a layer ("layer_types", "mlp_layer_types"); empty where there is no list or it ends
// before.
std::string listed_word(ConfigReader& reader, std::string_view key, std::int64_t layer);

// DeepSeek-V3's rule, which many took over: sigmoid scores, a bias that only chooses, groups by their two best experts,
// weights divided by their sum and scaled.
void read_sigmoid_routing(ConfigReader& reader, RouterPolicy& policy);

// Group limits as DeepSeek and those after it state them.
void read_groups(ConfigReader& reader, RouterPolicy& policy, GroupScore score);

}  // namespace mixtura
