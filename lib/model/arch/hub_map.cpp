// Tensor names of checkpoints on the Hugging Face hub.
#include "base/text.hpp"
#include "model/arch/common.hpp"

namespace mixtura {

WeightSource TensorNames::tensor(std::string name) const {
    WeightSource source;
    if (index.find(name) != nullptr) source.tensor = std::move(name);
    return source;
}
LinearSource TensorNames::linear(const std::string& stem) const {
    LinearSource source;
    source.weight.tensor = stem + ".weight";
    source.bias = tensor(stem + ".bias");
    return source;
}
NormSource TensorNames::norm(const std::string& stem) const {
    NormSource source;
    source.weight.tensor = stem + ".weight";
    source.bias = tensor(stem + ".bias");
    return source;
}

LinearSource with_rows(LinearSource fused, RowPattern rows) {
    fused.weight.rows = rows;
    fused.bias.rows = rows;
    return fused;
}

LinearSource head_or_embedding(const WeightIndex& index, std::string_view head, const WeightSource& embedding,
                               bool is_tied) {
    LinearSource source;
    source.weight = embedding;
    if (is_tied || index.find(head) == nullptr) return source;
    source.weight.tensor = head;
    constexpr std::string_view kWeight = ".weight";
    const std::string stem(head.substr(0, head.size() - kWeight.size()));
    source.bias = TensorNames{index}.tensor(stem + ".bias");
    return source;
}

ExpertMap fused_expert(const std::string& stem, std::int64_t expert, std::int64_t width) {
    ExpertMap map;
    map.gate.weight.tensor = map.up.weight.tensor = stem + "input_linear.weight";
    map.gate.weight.rows = {0, width, width};
    map.up.weight.rows = {width, width, width};
    map.down.weight.tensor = stem + "output_linear.weight";
    map.gate.weight.slice = map.up.weight.slice = map.down.weight.slice = expert;
    return map;
}

std::vector<ExpertMap> map_experts(const WeightIndex& index, std::int64_t count,
                                   const std::function<ExpertMap(std::int64_t)>& map) {
    std::vector<ExpertMap> experts;
    for (std::int64_t e = 0; e < count; ++e) {
        experts.push_back(map(e));
        const WeightSource& down = experts.back().down.weight;
        const TensorInfo* tensor = index.find(down.tensor);
        if (tensor == nullptr || tensor->shape.rank() == 0 || down.slice >= tensor->shape[0]) break;
    }
    return experts;
}

void split_latent_heads(const WeightIndex& index, const std::string& tensor, const AttentionSpec& attention,
                        LatentMap& map) {
    const std::int64_t plain = attention.latent.plain_width, value = attention.value_width;
    const TensorInfo* stored = index.find(tensor);
    const std::int64_t rows = stored != nullptr && stored->shape.rank() > 0 ? stored->shape[0] : 0;
    for (std::int64_t h = 0; h < attention.query_heads; ++h) {
        // Rows are [head][plain keys, values]; the keys' matrix is needed the other way round, [rank, plain].
        WeightSource key;
        key.tensor = tensor;
        key.is_transposed = true;
        key.input_begin = h * (plain + value);
        map.key_up.push_back(key);
        WeightSource up;
        up.tensor = tensor;
        up.rows = {h * (plain + value) + plain, value, value};
        map.value_up.push_back(up);
        if (plain < 1 || value < 1 || (h + 1) * (plain + value) > rows) break;  // the sizes are refused later
    }
}

WeightMap hub_llama_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied, const std::string& prefix) {
    const TensorNames names{index};
    WeightMap map;
    map.token_embedding.tensor = prefix + "embed_tokens.weight";
    map.final_norm = names.norm(prefix + "norm");
    // The head stands beside the "model." that the prefix ends with.
    constexpr std::string_view kInner = "model.";
    const std::string head = prefix.substr(0, prefix.size() - kInner.size()) + "lm_head.weight";
    map.head = head_or_embedding(index, head, map.token_embedding, is_tied);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text(prefix, "layers.", l, "."), attention = block + "self_attn.";
        const AttentionSpec& attention_spec = spec.layers[l].attention;
        LayerMap layer;
        layer.attention_norm = names.norm(block + "input_layernorm");
        layer.ffn_norm = names.norm(block + "post_attention_layernorm");
        if (attention_spec.is_latent()) {
            const bool is_compressed = attention_spec.latent.query_rank > 0;
            layer.query = names.linear(attention + (is_compressed ? "q_b_proj" : "q_proj"));
            layer.latent.query_down = names.linear(attention + "q_a_proj");
            layer.latent.query_norm = names.norm(attention + "q_a_layernorm");
            layer.latent.row_down = names.linear(attention + "kv_a_proj_with_mqa");
            layer.latent.row_norm = names.norm(attention + "kv_a_layernorm");
            split_latent_heads(index, attention + "kv_b_proj.weight", attention_spec, layer.latent);
        } else {
            layer.query = names.linear(attention + "q_proj");
            layer.key = names.linear(attention + "k_proj");
            layer.value = names.linear(attention + "v_proj");
            layer.query_norm = names.norm(attention + "q_norm");
            layer.key_norm = names.norm(attention + "k_norm");
        }
        layer.output = names.linear(attention + "o_proj");
        layer.gate = names.linear(block + "mlp.gate_proj");
        layer.up = names.linear(block + "mlp.up_proj");
        layer.down = names.linear(block + "mlp.down_proj");
        map.layers.push_back(std::move(layer));
    }
    return map;
}

MixtureMap hub_mixture(const TensorNames& names, const std::string& stem, const MixtureSpec& spec,
                       const HubMixtureNames& parts) {
    MixtureMap map;
    map.router = names.linear(text(stem, parts.router));
    if (!parts.selection_bias.empty()) map.selection_bias = names.tensor(text(stem, parts.selection_bias));
    map.experts = map_experts(names.index, spec.experts.expert_count, [&](std::int64_t e) -> ExpertMap {
        const std::string expert = text(stem, "experts.", e, ".");
        return {names.linear(text(expert, parts.gate)), names.linear(text(expert, parts.up)),
                names.linear(text(expert, parts.down))};
    });
    if (!parts.shared.empty() && spec.experts.shared_width > 0) {
        const std::string shared = text(stem, parts.shared, ".");
        map.shared = {names.linear(shared + "gate_proj"), names.linear(shared + "up_proj"),
                      names.linear(shared + "down_proj")};
    }
    if (!parts.shared_gate.empty()) map.shared_gate.tensor = text(stem, parts.shared_gate, ".weight");
    return map;
}

}  // namespace mixtura
