// Tensor names of GGUF files, which all families share.  Source: llama.cpp's converter (gguf-py, tensor_mapping).
#include <algorithm>

#include "base/text.hpp"
#include "model/arch/common.hpp"

namespace mixtura {
namespace {

LinearSource slice_of(LinearSource stacked, std::int64_t index) {
    stacked.weight.slice = index;
    stacked.bias.slice = index;
    return stacked;
}

void map_latent(const TensorNames& names, const std::string& block, const AttentionSpec& attention, LayerMap& layer) {
    layer.query = names.linear(block + (attention.latent.query_rank > 0 ? "attn_q_b" : "attn_q"));
    layer.latent.query_down = names.linear(block + "attn_q_a");
    layer.latent.query_norm = names.norm(block + "attn_q_a_norm");
    layer.latent.row_down = names.linear(block + "attn_kv_a_mqa");
    layer.latent.row_norm = names.norm(block + "attn_kv_a_norm");
    const TensorInfo* keys = names.index.find(block + "attn_k_b.weight");
    if (keys == nullptr) {  // files from before the split
        split_latent_heads(names.index, block + "attn_kv_b.weight", attention, layer.latent);
        return;
    }
    // One head more than there is, to be refused by name (map_experts).
    const std::int64_t heads = keys->shape.rank() > 0 ? keys->shape[0] + 1 : 1;
    for (std::int64_t h = 0; h < std::min(attention.query_heads, heads); ++h) {
        WeightSource key, value;
        key.tensor = block + "attn_k_b.weight";
        value.tensor = block + "attn_v_b.weight";
        key.slice = value.slice = h;
        layer.latent.key_up.push_back(key);
        layer.latent.value_up.push_back(value);
    }
}

void map_grouped(const TensorNames& names, const std::string& block, const AttentionSpec& attention, LayerMap& layer) {
    if (names.index.find(block + "attn_qkv.weight") != nullptr) {
        // One tensor with all queries, then all keys, then all values.
        const LinearSource fused = names.linear(block + "attn_qkv");
        const std::int64_t queries = attention.query_heads * attention.key_width,
                           keys = attention.kv_heads * attention.key_width;
        const std::int64_t values = attention.kv_heads * attention.value_width;
        layer.query = with_rows(fused, {0, queries, queries});
        layer.key = with_rows(fused, {queries, keys, keys});
        layer.value = with_rows(fused, {queries + keys, values, values});
    } else {
        layer.query = names.linear(block + "attn_q");
        layer.key = names.linear(block + "attn_k");
        layer.value = names.linear(block + "attn_v");
    }
    layer.query_norm = names.norm(block + "attn_q_norm");
    layer.key_norm = names.norm(block + "attn_k_norm");
}

void map_mixture(const TensorNames& names, const std::string& block, const MixtureSpec& spec, MixtureMap& map) {
    map.router = names.linear(block + "ffn_gate_inp");
    map.selection_bias = names.tensor(block + "exp_probs_b.bias");
    if (!map.selection_bias.is_present()) map.selection_bias = names.tensor(block + "exp_probs_b");
    const bool is_stacked = names.index.find(block + "ffn_down_exps.weight") != nullptr;
    LinearSource gates = names.linear(block + "ffn_gate_exps"), ups = names.linear(block + "ffn_up_exps");
    const LinearSource downs = names.linear(block + "ffn_down_exps");
    if (names.index.find(block + "ffn_gate_up_exps.weight") != nullptr) {  // an option of converters since 2026
        const LinearSource both = names.linear(block + "ffn_gate_up_exps");
        const std::int64_t width = spec.experts.width;
        gates = with_rows(both, {0, width, width});
        ups = with_rows(both, {width, width, width});
    }
    map.experts = map_experts(names.index, spec.experts.expert_count, [&](std::int64_t e) -> ExpertMap {
        if (is_stacked) return {slice_of(gates, e), slice_of(ups, e), slice_of(downs, e)};
        // Files of early 2024 have one tensor an expert and matrix.
        return {names.linear(text(block, "ffn_gate.", e)), names.linear(text(block, "ffn_up.", e)),
                names.linear(text(block, "ffn_down.", e))};
    });
    map.shared = {names.linear(block + "ffn_gate_shexp"), names.linear(block + "ffn_up_shexp"),
                  names.linear(block + "ffn_down_shexp")};
    map.shared_gate = names.tensor(block + "ffn_gate_inp_shexp.weight");
}

}  // namespace

WeightMap gguf_map(const WeightIndex& index, const ModelSpec& spec) {
    const TensorNames names{index};
    WeightMap map;
    map.token_embedding.tensor = "token_embd.weight";
    map.position_embedding = names.tensor("position_embd.weight");
    map.embedding_norm = names.norm("token_embd_norm");
    map.final_norm = names.norm("output_norm");
    map.head = head_or_embedding(index, "output.weight", map.token_embedding, false);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text("blk.", l, ".");
        const LayerSpec& spec_layer = spec.layers[l];
        LayerMap layer;
        layer.attention_norm = names.norm(block + "attn_norm");
        // GLM-4 and gpt-oss call it by where it stands, DBRX by the attention's output.
        for (const std::string_view name : {"ffn_norm", "post_attention_norm", "attn_output_norm"}) {
            if (layer.ffn_norm.weight.is_present() && index.find(layer.ffn_norm.weight.tensor) != nullptr) break;
            layer.ffn_norm = names.norm(text(block, name));
        }
        if (spec_layer.attention.is_latent())
            map_latent(names, block, spec_layer.attention, layer);
        else
            map_grouped(names, block, spec_layer.attention, layer);
        layer.output = names.linear(block + "attn_output");
        layer.sinks.tensor = block + "attn_sinks.weight";
        if (spec_layer.mixture) {
            map_mixture(names, block, *spec_layer.mixture, layer.mixture);
        } else {
            if (spec_layer.ffn.is_gated) layer.gate = names.linear(block + "ffn_gate");
            layer.up = names.linear(block + "ffn_up");
            layer.down = names.linear(block + "ffn_down");
        }
        map.layers.push_back(std::move(layer));
    }
    return map;
}

}  // namespace mixtura
