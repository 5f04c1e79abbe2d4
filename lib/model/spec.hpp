// What a model is, as data: the forward pass (forward.cpp) reads nothing else.  A family's file in arch/ turns a
// configuration into a ModelSpec and a WeightMap; a new family is a new file there.
#pragma once

#include <mixtura/expert_pool.hpp>
#include <mixtura/router.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "weights/source.hpp"

namespace mixtura {

enum class NormKind { none, rms, layer };
struct NormSpec {
    NormKind kind = NormKind::none;
    float epsilon = 0.0F;
    bool is_zero_centred = false;  // the file's weights lie around 0, and 1 + w multiplies
};

// Rotary embedding, its scaling folded into frequencies and magnitude.  A scaling that hangs on the length of a
// sequence takes the limit it was admitted with (StepSequence::limit_tokens), never the length it has now: what is
// cached of its first tokens stays right when more come, and nothing hangs on chunks.
struct RopeSpec {
    RopePairing pairing = RopePairing::half;
    std::vector<float> inverse_frequencies = {};  // [rotated width / 2]
    float magnitude = 1.0F;                       // multiplies cosines and sines (YaRN's attention factor)
    WeightSource factors = {};                    // GGUF's rope_freqs: divides the frequencies, read at load

    std::int64_t original_tokens = 0;          // a sequence admitted for more has what follows; 0: none has
    std::vector<float> long_frequencies = {};  // LongRoPE's other set; empty: dynamic NTK
    float long_magnitude = 1.0F;
    WeightSource long_factors = {};  // as factors, for long_frequencies
    float theta = 0.0F;              // dynamic NTK: the base, which grows with the limit
    float ntk_factor = 1.0F;
};

enum class PositionKind {
    none,  // this layer knows no positions
    rope,
    alibi,
    learned,        // in the embedding, not in the layers
    relative_bias,  // a learned number a head for how far a key lies from the query
};

// Distances in buckets: each its own up to a half, then so that their logarithm grows evenly up to `distance_max`, from
// which on all share the last.  Looking both ways, half of the buckets are for keys behind the query.  Source: Raffel
// et al. 2020 (arXiv 1910.10683), 2.1, and the authors' code.
struct RelativeBiasSpec {
    std::int64_t buckets = 0;
    std::int64_t distance_max = 0;
};

// Latent attention: keys and values of all heads are linear in one short row a token, which is all that is cached.
// Source: DeepSeek-V2 (arXiv 2405.04434), 2.1, in the absorbed form (queries are taken into the latent space), which is
// used for every number of tokens.
struct LatentSpec {
    std::int64_t query_rank = 0;    // of the compressed queries; 0: queries straight from the hidden state
    std::int64_t rank = 0;          // of the latent row; 0: this attention is not latent
    std::int64_t plain_width = 0;   // of a head's query and key without position
    std::int64_t rope_width = 0;    // of its rotated rest, whose key all heads share
    NormSpec query_norm, row_norm;  // over the compressed queries, over the latent row
};

struct AttentionSpec {
    std::int64_t query_heads = 0, kv_heads = 0;   // latent: kv_heads is 1
    std::int64_t key_width = 0, value_width = 0;  // D of one head; latent: plain + rope, and v of a head
    float scale = 1.0F;                           // q · k times this
    PositionKind position = PositionKind::rope;
    int rope = 0;                 // index into ModelSpec::ropes
    RelativeBiasSpec bias;        // of PositionKind::relative_bias
    bool sees_both_ways = false;  // an encoder's: every token of its sequence, which comes in one step
    NormSpec query_norm, key_norm;
    bool norm_spans_heads = false;       // over all heads together (OLMoE), else over each
    bool norm_follows_rotation = false;  // Hunyuan, Llama 4
    float clip = 0.0F;                   // > 0: queries, keys and values are cut to ± this, after the norms
    std::int64_t window_tokens = 0;      // 0: all before
    std::int64_t chunk_tokens = 0;       // > 0: only the own chunk of positions
    bool has_output_gate = false;        // what a head gives, times the sigmoid of a projection of its own
    bool has_sinks = false;              // a learned logit a head that takes weight and gives nothing
    // Queries of position p times 1 + query_gain · ln(1 + floor((p + 1) / query_gain_tokens)) where the gain is not 0.
    // Source: Llama 4, after Nakanishi 2025 (arXiv 2501.19399).
    float query_gain = 0.0F;
    float query_gain_tokens = 1.0F;
    LatentSpec latent;
    // Queries and outputs through experts: each of a token's top_k brings kv_heads heads, and query head h · top_k + j
    // is choice j's beside key head h.  Source: JetMoE, Shen et al. 2024 (arXiv 2404.07413), 2.2, after Tan et al. 2023
    // (arXiv 2306.04640).
    std::optional<RouterSpec> head_router;

    bool is_latent() const noexcept { return latent.rank > 0; }
};

// What a layer has instead of attention that sees rows of the past: a state of fixed size.  Its memory per sequence is
// one run of f32 in the cache (KVLayer::state_size), whose parts forward_recurrent.cpp lays out.  It is the gated delta
// rule behind a causal convolution of queries, keys and values, with a gated norm of each head's output.  Source: Yang
// et al. 2024 (arXiv 2412.06464), (10) and 3.4.
inline constexpr std::int64_t kTapsMax = 16;
struct RecurrentSpec {
    std::int64_t key_heads = 0, value_heads = 0;  // value head h has the queries and keys of head h / (their ratio)
    std::int64_t key_width = 0, value_width = 0;  // of one head
    std::int64_t taps = 1;                        // of the convolution: its own token and those before
    NormSpec output_norm;                         // over each value head, then times the SiLU of the gate
    bool is_decay_logarithmic = false;            // the file has ln A of decay e^(-A · softplus(x)), else -A

    std::int64_t key_elements() const noexcept { return key_heads * key_width; }
    std::int64_t value_elements() const noexcept { return value_heads * value_width; }
    // Convolved: all queries, all keys, all values.
    std::int64_t channels() const noexcept { return 2 * key_elements() + value_elements(); }
    // Elements of the state: the convolution's last inputs [taps - 1, channels], then each value head's, as DeltaRule
    // has it.
    std::int64_t history_size() const noexcept { return (taps - 1) * channels(); }
    std::int64_t head_size() const noexcept { return (value_width + 15) / 16 * 16 * key_width; }
    std::int64_t state_size() const noexcept { return history_size() + value_heads * head_size(); }
};

struct DenseSpec {
    std::int64_t width = 0;
    GatedActivation activation;
    bool is_gated = true;  // act(gate) · up, else act(up)
};

struct MixtureSpec {
    RouterSpec router;
    ExpertSpec experts;
    // > 0: an expert takes so many choices of one sequence's tokens in a step, in their order, and those beyond give
    // nothing.  Of layers that have whole sequences in a step only: an encoder's.
    std::int64_t sequence_capacity = 0;
};

// Attention from a decoder's layer to the encoder's output, between its own attention and the feed-forward; no position
// and no mask, and no more of the output's keys and values than it has rows.
struct CrossSpec {
    NormSpec norm;
    std::int64_t heads = 0;
    std::int64_t key_width = 0, value_width = 0;  // of one head
    float scale = 1.0F;
};

struct LayerSpec {
    NormSpec attention_norm, ffn_norm;
    NormSpec attention_output_norm, ffn_output_norm;  // over what the two add to the residual stream (AFMoE)
    AttentionSpec attention;
    std::optional<RecurrentSpec> recurrent;  // instead of attention
    std::optional<CrossSpec> cross;          // of a decoder beside an encoder
    DenseSpec ffn;                           // of a dense layer
    std::optional<MixtureSpec> mixture;      // instead of ffn
    float residual_scale = 1.0F;             // multiplies what attention and feed-forward add
};

struct ModelSpec {
    std::string architecture;
    std::int64_t hidden_size = 0;
    std::int64_t vocabulary_size = 0;
    std::int64_t context_tokens = 0;
    std::int64_t learned_positions = 0;  // rows of the position table; 0: none
    float embedding_scale = 1.0F;
    float logit_divisor = 1.0F;
    NormSpec embedding_norm, final_norm;
    std::vector<RopeSpec> ropes;
    // An encoder's layers, if there is one, and behind them the decoder's: both embed by one table.
    std::vector<LayerSpec> layers;
    std::int64_t encoder_layers = 0;
    NormSpec encoder_norm;    // over the encoder's output
    TokenId start_token = 0;  // in front of what a decoder beside an encoder writes

    bool has_encoder() const noexcept { return encoder_layers > 0; }
};

// ---- where the weights of a spec lie -----------------------------------------------------------------------

struct LinearSource {
    WeightSource weight, bias;
};
struct NormSource {
    WeightSource weight, bias;
};

struct ExpertMap {
    LinearSource gate, up, down;
};
struct MixtureMap {
    LinearSource router, inner_router;  // inner_router: of a two-layer gate
    WeightSource selection_bias;
    std::vector<ExpertMap> experts;  // experts that name the same source share one matrix in memory
    ExpertMap shared;
    WeightSource shared_gate;
};
struct LatentMap {
    LinearSource query_down, row_down;  // hidden -> query_rank; hidden -> rank + rope_width
    NormSource query_norm, row_norm;
    std::vector<WeightSource> key_up;    // a head: [rank, plain_width]
    std::vector<WeightSource> value_up;  // a head: [value_width, rank]
};

struct HeadMixtureMap {
    LinearSource router;
    std::vector<WeightSource> query,
        output;  // an expert: [kv_heads · key_width, hidden], [hidden, kv_heads · value_width]
};

struct RecurrentMap {
    LinearSource gate;                      // of the output, [value_elements, hidden]
    LinearSource rate, decay;               // [value_heads, hidden]
    WeightSource convolution;               // [taps, channels]
    WeightSource decay_factor, decay_bias;  // [value_heads]
    NormSource output_norm;                 // [value_width]
};

struct CrossMap {
    NormSource norm;
    LinearSource query, key, value, output;
};

struct LayerMap {
    NormSource attention_norm, ffn_norm, attention_output_norm, ffn_output_norm;
    LinearSource query, key, value, output;  // latent: query reads the compressed queries where there are such
    LinearSource output_gate;
    NormSource query_norm, key_norm;
    WeightSource sinks;
    WeightSource position_bias;  // [buckets, query heads]; layers that name one tensor share its numbers
    CrossMap cross;
    LatentMap latent;
    HeadMixtureMap heads;    // instead of query and output, of which the bias counts
    RecurrentMap recurrent;  // with query, key, value and output
    LinearSource gate, up, down;
    MixtureMap mixture;
};

struct WeightMap {
    WeightSource token_embedding, position_embedding;
    NormSource embedding_norm, encoder_norm, final_norm;
    LinearSource head;  // the token embedding's tensor where the two are tied
    std::vector<LayerMap> layers;
};

struct Architecture {
    ModelSpec spec;
    WeightMap map;
    std::vector<std::string> warnings;  // configuration keys nobody read
};

}  // namespace mixtura
