#include "model/core.hpp"

#include <map>

#include "base/error.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Sizes that no forward pass could use, whatever the family made of them.
Status check_spec(const ModelSpec& spec) {
    const auto refuse = [](std::string_view what, std::int64_t value, std::string_view expected) {
        return error(StatusCode::corrupt_file, "the configuration's ", what, " is ", value, ", expected ", expected);
    };
    constexpr std::int64_t kSizeMax = 1 << 24, kLayersMax = 4096;
    if (spec.hidden_size < 1 || spec.hidden_size > kSizeMax)
        return refuse("hidden size", spec.hidden_size, "1 to 2^24");
    if (spec.vocabulary_size < 1 || spec.vocabulary_size > kSizeMax)
        return refuse("vocabulary", spec.vocabulary_size, "1 to 2^24");
    const auto layer_count = static_cast<std::int64_t>(spec.layers.size());
    if (layer_count < 1 || layer_count > kLayersMax) return refuse("layer count", layer_count, "1 to 4096");
    if (spec.context_tokens < 1) return refuse("context", spec.context_tokens, "at least 1 token");
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = layer.attention;
        if (attention.query_heads < 1 || attention.query_heads > 65536)
            return refuse("head count", attention.query_heads, "1 to 65536");
        if (attention.kv_heads < 1 || attention.query_heads % attention.kv_heads != 0) {
            return refuse("key/value head count", attention.kv_heads,
                          text("a divisor of the ", attention.query_heads, " query heads"));
        }
        if (attention.key_width < 1 || attention.key_width > kHeadWidthMax)
            return refuse("head width", attention.key_width, "1 to 1024");
        if (attention.value_width < 1 || attention.value_width > kHeadWidthMax)
            return refuse("value head width", attention.value_width, "1 to 1024");
        if (layer.ffn.width < 1 || layer.ffn.width > kSizeMax)
            return refuse("feed-forward width", layer.ffn.width, "1 to 2^24");
        const auto rotated =
            attention.position == PositionKind::rope
                ? static_cast<std::int64_t>(
                      spec.ropes[static_cast<std::size_t>(attention.rope)].inverse_frequencies.size()) *
                      2
                : 0;
        if (rotated > attention.key_width)
            return refuse("rotated width", rotated, text("at most the head's ", attention.key_width));
    }
    return {};
}

std::string without_layer_number(const std::string& role) {
    constexpr std::string_view kPrefix = "layers.";
    if (role.compare(0, kPrefix.size(), kPrefix) != 0) return role;
    return text(kPrefix, "#", role.substr(role.find('.', kPrefix.size())));
}

}  // namespace

Result<std::shared_ptr<const ModelCore>> ModelCore::load(const std::string& path, ParallelFor& threads,
                                                         const LoadProgress& progress) {
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
    const std::vector<WeightBinding> bindings = bind_weights(core->spec, architecture.map, core->weights);
    MIXTURA_ASSIGN_OR_RETURN(core->store, WeightStore::load(files.index, bindings, threads, progress));
    for (std::size_t i = 0; i < core->spec.ropes.size(); ++i) {
        const float* factors = core->weights.rope_factors[i];
        if (factors == nullptr) continue;
        for (float& frequency : core->spec.ropes[i].inverse_frequencies) frequency /= *factors++;
    }
    return std::shared_ptr<const ModelCore>(std::move(core));
}

Result<std::vector<RoleBytes>> predict_weight_bytes(const ModelFiles& files) {
    MIXTURA_ASSIGN_OR_RETURN(const Architecture architecture, describe_architecture(files));
    MIXTURA_RETURN_IF_ERROR(check_spec(architecture.spec));
    ModelWeights weights;
    std::map<std::string, std::size_t> places;
    std::vector<RoleBytes> roles;
    for (const WeightBinding& binding : bind_weights(architecture.spec, architecture.map, weights)) {
        MIXTURA_ASSIGN_OR_RETURN(const std::uint64_t bytes, WeightStore::predicted_bytes(files.index, {binding}));
        const std::string role = without_layer_number(binding.role);
        const auto [place, is_new] = places.try_emplace(role, roles.size());
        if (is_new) roles.push_back({role, 0, 0, 0});
        ++roles[place->second].tensor_count;
        roles[place->second].parameter_count += static_cast<std::uint64_t>(binding.rows * binding.columns);
        roles[place->second].size_bytes += bytes;
    }
    return roles;
}

}  // namespace mixtura
