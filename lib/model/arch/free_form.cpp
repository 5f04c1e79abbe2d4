// The free form: a checkpoint folder that describes itself layer by layer (model_type "mixtura").  README.md beside
// this file is its definition.  It is ours, so nothing in it is ignored: an unknown key is refused by name.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

// Reads one object of the form: every key is either read or refused.
class Part {
  public:
    Part(ConfigReader& reader, std::string where, std::optional<JsonValue> object)
        : reader_(reader), where_(std::move(where)), object_(object) {
        if (!object_ || !object_->is_object()) refuse("is no object", "");
    }
    std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
        return read<std::int64_t>(key, otherwise, "a whole number of at most 2^30", [](JsonValue v) {
            const auto number = v.as_integer();
            return number && *number >= -kIntegerMax && *number <= kIntegerMax ? number : std::nullopt;
        });
    }
    double real(std::string_view key, std::optional<double> otherwise = {}) {
        return read<double>(key, otherwise, "a number", [](JsonValue v) { return v.as_real(); });
    }
    bool boolean(std::string_view key, std::optional<bool> otherwise = {}) {
        return read<bool>(key, otherwise, "true or false", [](JsonValue v) { return v.as_boolean(); });
    }
    // One of some words, as its place among them.
    std::size_t word(std::string_view key, std::initializer_list<std::string_view> words,
                     std::optional<std::string_view> otherwise = {}) {
        const auto stated =
            read<std::string_view>(key, otherwise, "a string", [](JsonValue v) { return v.as_string(); });
        std::string list;
        for (const std::string_view known : words) list += text(list.empty() ? "" : " or ", known);
        const auto* found = std::find(words.begin(), words.end(), stated);
        if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
        refuse(text(quoted(key), " is ", quoted(stated), ", expected ", list), "");
        return 0;
    }
    std::optional<JsonValue> value(std::string_view key) {
        read_.emplace_back(key);
        const auto found = object_ ? object_->find(key) : std::nullopt;
        return found && !found->is_null() ? found : std::nullopt;
    }
    Part part(std::string_view key) { return Part(reader_, text(where_, where_.empty() ? "" : ".", key), value(key)); }
    // To be called last.
    void refuse_unread() {
        if (!object_ || !object_->is_object()) return;
        for (const auto [key, unused] : object_->members()) {
            if (std::find(read_.begin(), read_.end(), key) == read_.end())
                refuse(text("has the key ", quoted(key), ", which the free form does not know"), "");
        }
    }
    void refuse(std::string_view what, std::string_view rest) {
        reader_.fail(
            error(StatusCode::unsupported, "the configuration's ", where_.empty() ? "root" : where_, " ", what, rest));
    }

  private:
    template <class T, class Convert>
    T read(std::string_view key, std::optional<T> otherwise, std::string_view kind, Convert convert) {
        const auto found = value(key);
        if (!found && otherwise) return *otherwise;
        const auto converted = found ? convert(*found) : std::nullopt;
        if (converted) return *converted;
        refuse(text("needs ", quoted(key), " as ", kind), "");
        return T{};
    }

    ConfigReader& reader_;
    std::string where_;
    std::optional<JsonValue> object_;
    std::vector<std::string> read_;
};

NormSpec read_norm(Part norm) {
    NormSpec spec;
    spec.kind = norm.word("kind", {"rms", "layer"}) == 0 ? NormKind::rms : NormKind::layer;
    spec.epsilon = static_cast<float>(norm.real("eps"));
    norm.refuse_unread();
    return spec;
}

AttentionSpec read_attention(Part part) {
    AttentionSpec spec;
    part.word("kind", {"gqa"});
    spec.query_heads = part.integer("heads");
    spec.kv_heads = part.integer("kv_heads", spec.query_heads);
    spec.key_width = spec.value_width = part.integer("head_dim");
    spec.scale = static_cast<float>(
        part.real("scale", 1.0 / static_cast<double>(std::sqrt(static_cast<float>(spec.key_width)))));
    constexpr PositionKind kKinds[] = {PositionKind::rope, PositionKind::alibi, PositionKind::none};
    spec.position = kKinds[part.word("position", {"rope", "alibi", "none"})];
    spec.window_tokens = part.integer("window", 0);
    spec.chunk_tokens = part.integer("chunk", 0);
    if (part.value("qk_norm")) spec.query_norm = spec.key_norm = read_norm(part.part("qk_norm"));
    part.refuse_unread();
    return spec;
}

RouterSpec read_router(Part part, std::int64_t hidden, std::int64_t experts, std::int64_t top_k) {
    RouterSpec spec;
    spec.hidden_size = hidden;
    spec.expert_count = experts;
    if (part.integer("layers", 1) == 2) {
        spec.gate_width = part.integer("hidden");
        spec.is_inner_relu = part.word("hidden_activation", {"relu", "silu"}) == 0;
    } else {
        part.value("hidden");
        part.value("hidden_activation");
    }
    RouterPolicy& policy = spec.policy;
    constexpr RouterScoring kScorings[] = {RouterScoring::softmax, RouterScoring::sigmoid,
                                           RouterScoring::softmax_of_chosen};
    policy.scoring = kScorings[part.word("scoring", {"softmax", "sigmoid", "softmax_of_chosen"})];
    policy.top_k = top_k;
    policy.renormalise = part.boolean("renormalise", false);
    policy.temperature = static_cast<float>(part.real("temperature", 1.0));
    policy.routed_scale = static_cast<float>(part.real("scale", 1.0));
    if (part.value("clamp")) policy.logit_clamp = static_cast<float>(part.real("clamp"));
    part.refuse_unread();
    return spec;
}

// Experts of a group read the gate and the up of the first one; those in no group their own.
std::map<std::int64_t, std::int64_t> first_matrix_of(Part& part, std::int64_t experts) {
    std::map<std::int64_t, std::int64_t> owner;
    const auto groups = part.value("shared_first_matrix");
    if (!groups || !groups->is_array()) return owner;
    for (const JsonValue group : groups->elements()) {
        std::int64_t first = -1;
        for (const JsonValue member : group.elements()) {
            const std::int64_t expert = member.as_integer().value_or(-1);
            if (expert < 0 || expert >= experts) {
                part.refuse("names an expert in 'shared_first_matrix' that is none of its ", text(experts));
                return owner;
            }
            if (first < 0) first = expert;
            owner[expert] = first;
        }
    }
    return owner;
}

void read_ffn(Part part, const TensorNames& names, const std::string& stem, std::int64_t hidden, LayerSpec& spec,
              LayerMap& map) {
    const bool is_mixture = part.word("kind", {"dense", "mixture"}) == 1;
    const std::size_t activation = part.word("activation", {"silu", "gelu", "gelu_tanh", "quick_gelu", "relu"});
    const bool is_gated = part.boolean("gated");
    const std::int64_t width = part.integer("width");
    if (!is_mixture) {
        constexpr Activation kKinds[] = {Activation::silu, Activation::gelu_erf, Activation::gelu_tanh,
                                         Activation::quick_gelu, Activation::relu};
        spec.ffn = {width, {kKinds[activation]}, is_gated};
        map.gate = names.linear(stem + "ffn.gate");
        map.up = names.linear(stem + "ffn.up");
        map.down = names.linear(stem + "ffn.down");
        part.refuse_unread();
        return;
    }
    spec.mixture.emplace();
    ExpertSpec& experts = spec.mixture->experts;
    experts.hidden_size = hidden;
    experts.expert_count = part.integer("experts");
    experts.width = width;
    experts.activation = static_cast<ExpertActivation>(activation);
    experts.is_gated = is_gated;
    experts.shared_width = part.integer("shared_width", 0);
    const std::map<std::int64_t, std::int64_t> owner = first_matrix_of(part, experts.expert_count);
    const std::int64_t top_k = part.integer("top_k");
    spec.mixture->router = read_router(part.part("router"), hidden, experts.expert_count, top_k);
    part.refuse_unread();

    const bool is_deep = spec.mixture->router.gate_width > 0;
    if (is_deep) map.mixture.inner_router = names.linear(stem + "router.0");
    map.mixture.router = names.linear(stem + (is_deep ? "router.1" : "router.0"));
    map.mixture.selection_bias = names.tensor(stem + "router.selection_bias");
    map.mixture.experts = map_experts(names.index, experts.expert_count, [&](std::int64_t e) -> ExpertMap {
        const auto shared = owner.find(e);
        const std::string first = text(stem, "experts.", shared != owner.end() ? shared->second : e, "."),
                          own = text(stem, "experts.", e, ".");
        return {names.linear(first + "gate"), names.linear(first + "up"), names.linear(own + "down")};
    });
    map.mixture.shared = {names.linear(stem + "shared.gate"), names.linear(stem + "shared.up"),
                          names.linear(stem + "shared.down")};
}

}  // namespace

Result<Architecture> describe_free_form(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    Part root(reader, "", config.values.root());
    const TensorNames names{index};
    Architecture out;
    ModelSpec& spec = out.spec;
    WeightMap& map = out.map;
    root.value("model_type");
    root.value("name");
    root.value("bos_token_id");
    root.value("eos_token_id");
    root.value("dtype");
    spec.architecture = config.facts.architecture;
    spec.hidden_size = root.integer("hidden_size");
    spec.vocabulary_size = root.integer("vocab_size");
    spec.context_tokens = root.integer("context_length");
    spec.final_norm = read_norm(root.part("final_norm"));
    double theta = 0;
    RopePairing pairing = RopePairing::half;
    if (root.value("rope")) {
        Part rope = root.part("rope");
        theta = rope.real("theta");
        if (rope.word("pairs", {"half", "interleaved"}) == 1) pairing = RopePairing::interleaved;
        rope.refuse_unread();
    }
    map.token_embedding.tensor = "embed.weight";
    map.final_norm = names.norm("norm");
    map.head = head_or_embedding(index, "head.weight", map.token_embedding, root.boolean("tied_head", false));
    const auto layers = root.value("layers");
    if (!layers || !layers->is_array()) root.refuse("needs 'layers' as a list", "");
    root.refuse_unread();
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (const JsonValue element : layers->elements()) {
        const std::size_t l = spec.layers.size();
        Part part(reader, text("layers[", l, "]"), element);
        const std::string stem = text("layers.", l, ".");
        LayerSpec layer;
        LayerMap tensors;
        layer.attention = read_attention(part.part("attention"));
        layer.attention_norm = layer.ffn_norm = read_norm(part.part("norm"));
        tensors.attention_norm = names.norm(stem + "attention_norm");
        tensors.ffn_norm = names.norm(stem + "ffn_norm");
        tensors.query = names.linear(stem + "attention.q");
        tensors.key = names.linear(stem + "attention.k");
        tensors.value = names.linear(stem + "attention.v");
        tensors.output = names.linear(stem + "attention.o");
        tensors.query_norm = names.norm(stem + "attention.q_norm");
        tensors.key_norm = names.norm(stem + "attention.k_norm");
        read_ffn(part.part("ffn"), names, stem, spec.hidden_size, layer, tensors);
        part.refuse_unread();
        MIXTURA_RETURN_IF_ERROR(reader.status());
        if (layer.attention.position == PositionKind::rope) {
            const auto width = static_cast<std::size_t>(layer.attention.key_width);
            if (spec.ropes.empty())
                spec.ropes.push_back({pairing, plain_frequencies(theta, layer.attention.key_width)});
            if (spec.ropes[0].inverse_frequencies.size() * 2 != width) {
                return error(StatusCode::unsupported, "the configuration's layers[", l, "] rotates heads of ", width,
                             " elements with theta ", theta,
                             ", expected an even width, the same in every rotated layer, and a positive theta");
            }
        }
        spec.layers.push_back(std::move(layer));
        map.layers.push_back(std::move(tensors));
    }
    MIXTURA_RETURN_IF_ERROR(reader.status());
    return out;
}

}  // namespace mixtura
