#include "model/core.hpp"

#include <charconv>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "model/arch/family.hpp"
#include "model/roles.hpp"
#include "model/weight_mix.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kSizeMax = 1 << 24, kLayersMax = 4096, kHeadsMax = 65536, kBucketsMax = 65536,
                       kDistanceMax = 65536;

Status refuse(std::string_view what, std::int64_t value, std::string_view expected) {
    return error(StatusCode::corrupt_file, "the configuration's ", what, " is ", value, ", expected ", expected);
}

Status check_attention(const ModelSpec& spec, const AttentionSpec& attention) {
    if (attention.query_heads < 1 || attention.query_heads > kHeadsMax)
        return refuse("head count", attention.query_heads, "1 to 65536");
    if (attention.kv_heads < 1 || attention.query_heads % attention.kv_heads != 0) {
        return refuse("key/value head count", attention.kv_heads,
                      text("a divisor of the ", attention.query_heads, " query heads"));
    }
    if (attention.key_width < 1 || attention.key_width > kHeadWidthMax)
        return refuse("head width", attention.key_width, "1 to 1024");
    if (attention.value_width < 1 || attention.value_width > kHeadWidthMax)
        return refuse("value head width", attention.value_width, "1 to 1024");
    if (attention.window_tokens < 0) return refuse("window", attention.window_tokens, "0 or more tokens");
    if (attention.chunk_tokens < 0) return refuse("attention chunk", attention.chunk_tokens, "0 or more tokens");
    const LatentSpec& latent = attention.latent;
    if (attention.is_latent()) {
        if (latent.rank + latent.rope_width > kHeadWidthMax)
            return refuse("latent row", latent.rank + latent.rope_width, "at most 1024 elements");
        if (latent.plain_width < 1 || latent.rope_width < 0 || latent.query_rank < 0 || latent.query_rank > kSizeMax)
            return refuse("latent head width", latent.plain_width, "at least 1");
    }
    if (attention.head_router) {
        const RouterSpec& router = *attention.head_router;
        if (router.expert_count < 1 || router.expert_count > 65536)
            return refuse("expert count", router.expert_count, "1 to 65536");
        MIXTURA_RETURN_IF_ERROR(Router::check(router.policy, router.expert_count));
        if (attention.query_heads != attention.kv_heads * router.policy.top_k) {
            return refuse("head count", attention.query_heads,
                          text(attention.kv_heads * router.policy.top_k, ", the key heads of each chosen expert"));
        }
        if (attention.key_width % kPanelRows != 0 || attention.value_width != attention.key_width)
            return refuse("head width", attention.key_width, "a multiple of 16 where experts project the heads");
    }
    if (attention.position == PositionKind::relative_bias) {
        const auto& [buckets, distance_max] = attention.bias;
        const std::int64_t least = attention.sees_both_ways ? 4 : 2;
        if (buckets < least || buckets > kBucketsMax || buckets % least != 0)
            return refuse("count of relative positions", buckets, text(least, " to 65536, a multiple of ", least));
        if (distance_max <= buckets / least || distance_max > kDistanceMax)
            return refuse("furthest relative position", distance_max, text(buckets / least + 1, " to 65536"));
    }
    if (attention.position != PositionKind::rope) return {};
    const auto& rope = spec.ropes[static_cast<std::size_t>(attention.rope)];
    const auto rotated = static_cast<std::int64_t>(rope.inverse_frequencies.size()) * 2;
    const std::int64_t room = attention.is_latent() ? latent.rope_width : attention.key_width;
    if (rotated > room) return refuse("rotated width", rotated, text("at most the head's ", room));
    return {};
}

Status check_recurrent(const RecurrentSpec& recurrent) {
    if (recurrent.key_heads < 1 || recurrent.key_heads > kHeadsMax)
        return refuse("recurrent key head count", recurrent.key_heads, "1 to 65536");
    if (recurrent.value_heads < 1 || recurrent.value_heads > kHeadsMax ||
        recurrent.value_heads % recurrent.key_heads != 0) {
        return refuse("recurrent value head count", recurrent.value_heads,
                      text("a multiple of the ", recurrent.key_heads, " key heads, at most 65536"));
    }
    if (recurrent.key_width < 1 || recurrent.key_width > kHeadWidthMax)
        return refuse("recurrent key width", recurrent.key_width, "1 to 1024");
    if (recurrent.value_width < 1 || recurrent.value_width > kHeadWidthMax)
        return refuse("recurrent value width", recurrent.value_width, "1 to 1024");
    if (recurrent.channels() > kSizeMax) return refuse("recurrent width", recurrent.channels(), "at most 2^24");
    if (recurrent.taps < 1 || recurrent.taps > kTapsMax)
        return refuse("convolution kernel", recurrent.taps, "1 to 16 tokens");
    return {};
}

Status check_ffn(const LayerSpec& layer) {
    const std::int64_t width = layer.mixture ? layer.mixture->experts.width : layer.ffn.width;
    if (width < 1 || width > kSizeMax) return refuse("feed-forward width", width, "1 to 2^24");
    if (!layer.mixture) return {};
    const MixtureSpec& mixture = *layer.mixture;
    if (mixture.experts.expert_count < 1 || mixture.experts.expert_count > 65536)
        return refuse("expert count", mixture.experts.expert_count, "1 to 65536");
    if (mixture.experts.shared_width < 0 || mixture.experts.shared_width > kSizeMax)
        return refuse("shared expert's width", mixture.experts.shared_width, "0 to 2^24");
    return Router::check(mixture.router.policy, mixture.router.expert_count);
}

Status check_cross(const CrossSpec& cross) {
    if (cross.heads < 1 || cross.heads > kHeadsMax)
        return refuse("cross-attention head count", cross.heads, "1 to 65536");
    if (cross.key_width < 1 || cross.key_width > kHeadWidthMax)
        return refuse("cross-attention head width", cross.key_width, "1 to 1024");
    if (cross.value_width < 1 || cross.value_width > kHeadWidthMax)
        return refuse("cross-attention value width", cross.value_width, "1 to 1024");
    return {};
}

// Sizes that no forward pass could use, whatever the family made of them.
Status check_spec(const ModelSpec& spec) {
    if (spec.hidden_size < 1 || spec.hidden_size > kSizeMax)
        return refuse("hidden size", spec.hidden_size, "1 to 2^24");
    if (spec.vocabulary_size < 1 || spec.vocabulary_size > kSizeMax)
        return refuse("vocabulary", spec.vocabulary_size, "1 to 2^24");
    const auto layer_count = static_cast<std::int64_t>(spec.layers.size());
    if (layer_count < 1 || layer_count > kLayersMax) return refuse("layer count", layer_count, "1 to 4096");
    if (spec.encoder_layers < 0 || spec.encoder_layers >= layer_count)
        return refuse("encoder's layer count", spec.encoder_layers, text("0 to ", layer_count - 1));
    if (spec.start_token < 0 || spec.start_token >= spec.vocabulary_size)
        return refuse("decoder's start token", spec.start_token, "one of the vocabulary");
    if (spec.context_tokens < 1) return refuse("context", spec.context_tokens, "at least 1 token");
    for (const LayerSpec& layer : spec.layers) {
        if (layer.recurrent)
            MIXTURA_RETURN_IF_ERROR(check_recurrent(*layer.recurrent));
        else
            MIXTURA_RETURN_IF_ERROR(check_attention(spec, layer.attention));
        if (layer.cross) MIXTURA_RETURN_IF_ERROR(check_cross(*layer.cross));
        MIXTURA_RETURN_IF_ERROR(check_ffn(layer));
    }
    return {};
}

// The number behind `word` in a role: 17 behind ".experts." in "layers.3.experts.17.gate.weight".
std::optional<std::int64_t> number_behind(const std::string& role, std::string_view word) {
    const std::size_t at = role.find(word);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t number = 0;
    const char* begin = role.data() + at + word.size();
    if (std::from_chars(begin, role.data() + role.size(), number).ec != std::errc()) return std::nullopt;
    return number;
}

// Adds what one token has to do with a binding that takes `bytes` (0 where it shares an earlier one's memory).
Status add_token_cost(const WeightIndex& index, const ModelSpec& spec, const WeightBinding& binding,
                      std::uint64_t bytes, TokenCost& token) {
    if (binding.is_looked_up) {
        token.read_bytes += bytes / static_cast<std::uint64_t>(binding.rows);
        return {};
    }
    // Of a token of the answer: an encoder's layers and what cross-attention makes of its output are the source's.
    if (spec.has_encoder()) {
        const std::string role = plain_role(binding.role);
        const bool is_encoders =
            number_behind(binding.role, "layers.").value_or(spec.encoder_layers) < spec.encoder_layers;
        if (is_encoders || role == "encoder_norm" || role == "attention.cross.key" || role == "attention.cross.value")
            return {};
    }
    const auto parameters = static_cast<std::uint64_t>(binding.rows * binding.columns);
    if (const auto expert = number_behind(binding.role, ".experts.")) {
        // All experts of a layer have one shape, so the first top_k stand for whichever are chosen.
        const auto layer = static_cast<std::size_t>(*number_behind(binding.role, "layers."));
        if (*expert >= spec.layers[layer].mixture->router.policy.top_k) return {};
        token.routed_parameters += parameters;
        MIXTURA_ASSIGN_OR_RETURN(const PredictedWeights alone, WeightStore::predict(index, {binding}));
        bytes = alone.weights[0].size_bytes;
    }
    token.multiplied_parameters += parameters;
    token.read_bytes += bytes;
    return {};
}

}  // namespace

Result<std::shared_ptr<const ModelCore>> ModelCore::load(const std::string& path, ParallelFor& threads,
                                                         const LoadProgress& progress, const Placement& placement,
                                                         const WeightMix& mix) {
    const FpEnvironment guard;  // frequencies of rotary embeddings
    MIXTURA_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::open(path));
    MIXTURA_ASSIGN_OR_RETURN(Architecture architecture, describe_architecture(files));
    MIXTURA_RETURN_IF_ERROR(check_spec(architecture.spec));
    auto core = std::make_shared<ModelCore>();
    MIXTURA_ASSIGN_OR_RETURN(core->backend, choose_backend());
    core->path = path;
    core->facts = std::move(files.config.facts);
    core->generation = std::move(files.config.generation);
    core->warnings = std::move(files.warnings);
    for (std::string& warning : architecture.warnings) core->warnings.push_back(std::move(warning));
    core->spec = std::move(architecture.spec);
    std::vector<WeightBinding> bindings = bind_weights(core->spec, architecture.map, core->weights);
    MIXTURA_RETURN_IF_ERROR(apply_mix(mix, bindings));
    MIXTURA_ASSIGN_OR_RETURN(core->store, WeightStore::load(files.index, bindings, threads, progress, placement));
    const std::span<const QuantisationLoss> losses = core->store.losses();
    for (std::size_t i = 0; i < losses.size(); ++i) {
        const auto& [from, to, error_sum, square_sum, largest] = losses[i];
        const auto parameters = static_cast<std::uint64_t>(bindings[i].rows * bindings[i].columns);
        if (to != DType::unknown)
            core->weight_errors.push_back(
                {bindings[i].role, plain_role(bindings[i].role), from, to, parameters, error_sum, square_sum, largest});
    }
    core->nodes = memory_of_nodes(placement.topology, core->store.node_bytes());
    const auto divide = [](std::vector<float>& frequencies, const float* factors) {
        for (std::size_t i = 0; factors != nullptr && i < frequencies.size(); ++i) frequencies[i] /= factors[i];
    };
    for (std::size_t i = 0; i < core->spec.ropes.size(); ++i) {
        divide(core->spec.ropes[i].inverse_frequencies, core->weights.rope_factors[i].usual);
        divide(core->spec.ropes[i].long_frequencies, core->weights.rope_factors[i].of_long);
    }
    return std::shared_ptr<const ModelCore>(std::move(core));
}

std::vector<NodeMemory> memory_of_nodes(const Topology& topology, std::span<const std::uint64_t> bytes) {
    std::vector<NodeMemory> nodes;
    for (std::size_t i = 0; i < bytes.size(); ++i) nodes.push_back({topology.nodes()[i].id, bytes[i]});
    return nodes;
}

Result<WeightForecast> predict_weights(const ModelFiles& files, const Architecture& architecture,
                                       const Topology& topology, const WeightMix& mix) {
    MIXTURA_RETURN_IF_ERROR(check_spec(architecture.spec));
    ModelWeights weights;
    std::map<std::string, std::size_t> places;
    WeightForecast forecast;
    std::vector<RoleBytes>& roles = forecast.roles;
    std::vector<WeightBinding> bindings = bind_weights(architecture.spec, architecture.map, weights);
    MIXTURA_RETURN_IF_ERROR(apply_mix(mix, bindings));
    MIXTURA_ASSIGN_OR_RETURN(const PredictedWeights predicted, WeightStore::predict(files.index, bindings, topology));
    forecast.nodes = memory_of_nodes(topology, predicted.node_bytes);
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        const WeightBinding& binding = bindings[i];
        const std::string role = without_numbers(binding.role);
        const auto [place, is_new] = places.try_emplace(role, roles.size());
        if (is_new) roles.push_back({role, 0, 0, 0, 0});
        const auto parameters = static_cast<std::uint64_t>(binding.rows * binding.columns);
        ++roles[place->second].tensor_count;
        roles[place->second].parameter_count += parameters;
        const auto [dtype, size_bytes] = predicted.weights[i];
        const bool is_product =
            !binding.is_looked_up && (binding.form == WeightForm::packed || binding.form == WeightForm::plain);
        if (is_product && panel_kind(dtype) == PanelKind::integer)
            roles[place->second].integer_parameter_count += parameters;
        roles[place->second].size_bytes += size_bytes;
        MIXTURA_RETURN_IF_ERROR(add_token_cost(files.index, architecture.spec, binding, size_bytes, forecast.token));
    }
    return forecast;
}

}  // namespace mixtura
