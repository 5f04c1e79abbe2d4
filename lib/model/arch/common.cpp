#include "model/arch/common.hpp"

#include <numbers>

#include "base/error.hpp"
#include "kernels/math.hpp"

namespace mixtura {
namespace {

// Llama 3.1's scaling by wavelength: long waves are stretched by `factor`, short ones kept, between them a blend.
// Source: transformers, modeling_rope_utils, _compute_llama3_parameters; the same formula in Meta's reference.
void scale_llama3(ConfigReader& reader, std::vector<float>& frequencies) {
    const auto factor = static_cast<float>(reader.real({"rope_parameters.factor", ""}));
    const auto low = static_cast<float>(reader.real({"rope_parameters.low_freq_factor", ""}));
    const auto high = static_cast<float>(reader.real({"rope_parameters.high_freq_factor", ""}));
    const auto original = static_cast<float>(reader.real({"rope_parameters.original_max_position_embeddings", ""}));
    if (!(factor > 0 && low > 0 && high > low && original > 0)) {
        reader.fail(error(StatusCode::corrupt_file,
                          "the configuration's 'rope_parameters' of type llama3 need factor > 0 and 0 < "
                          "low_freq_factor < high_freq_factor"));
        return;
    }
    for (float& frequency : frequencies) {
        const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
        if (wavelength > original / low) {
            frequency = frequency / factor;
        } else if (wavelength >= original / high) {
            const float smooth = (original / wavelength - low) / (high - low);
            frequency = (1.0F - smooth) * (frequency / factor) + smooth * frequency;
        }
    }
}

}  // namespace

RopeSpec read_rope(ConfigReader& reader, std::int64_t rotated_width, RopePairing pairing) {
    RopeSpec rope;
    rope.pairing = pairing;
    const double theta = reader.real({"rope_parameters.rope_theta", "rope.freq_base"}, 10000.0);
    if (rotated_width < 2 || rotated_width % 2 != 0 || !(theta > 0)) {
        reader.fail(error(StatusCode::corrupt_file, "the configuration rotates ", rotated_width,
                          " elements of a head with theta ", theta, ", expected an even number and a positive theta"));
        return rope;
    }
    // inverse_frequency[i] = 1 / theta^(2i / width), in f32 as the owners' code rounds it.
    for (std::int64_t i = 0; i < rotated_width / 2; ++i) {
        const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotated_width);
        rope.inverse_frequencies.push_back(1.0F / pow_f32(static_cast<float>(theta), exponent));
    }
    const std::string type = reader.string({"rope_parameters.rope_type", "rope.scaling.type"}, "default");
    if (type == "linear") {
        const auto factor = static_cast<float>(reader.real({"rope_parameters.factor", "rope.scaling.factor"}));
        for (float& frequency : rope.inverse_frequencies) frequency /= factor;
    } else if (type == "llama3") {
        scale_llama3(reader, rope.inverse_frequencies);
    } else if (type != "default" && type != "none") {
        reader.fail(error(StatusCode::unsupported, "the rope scaling ", quoted(type), " is not known for ",
                          reader.facts().architecture, ", expected default, linear or llama3"));
    }
    return rope;
}

WeightSource TensorNames::tensor(std::string name) const {
    WeightSource source;
    if (index.find(name) != nullptr) source.tensor = std::move(name);
    return source;
}
LinearSource TensorNames::linear(const std::string& stem) const {
    return {{stem + ".weight", -1, false, {}}, tensor(stem + ".bias")};
}
NormSource TensorNames::norm(const std::string& stem) const {
    return {{stem + ".weight", -1, false, {}}, tensor(stem + ".bias")};
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
    if (!is_tied && index.find(head) != nullptr) source.weight.tensor = head;
    return source;
}

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
        const AttentionSpec& attention = spec.layers[l].attention;
        LayerMap layer;
        layer.attention_norm = names.norm(block + "attn_norm");
        layer.ffn_norm = names.norm(block + "ffn_norm");
        if (index.find(block + "attn_qkv.weight") != nullptr) {
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
        layer.output = names.linear(block + "attn_output");
        layer.query_norm = names.norm(block + "attn_q_norm");
        layer.key_norm = names.norm(block + "attn_k_norm");
        if (spec.layers[l].ffn.is_gated) layer.gate = names.linear(block + "ffn_gate");
        layer.up = names.linear(block + "ffn_up");
        layer.down = names.linear(block + "ffn_down");
        map.layers.push_back(std::move(layer));
    }
    return map;
}

WeightMap hub_llama_map(const WeightIndex& index, const ModelSpec& spec, bool is_tied) {
    const TensorNames names{index};
    WeightMap map;
    map.token_embedding.tensor = "model.embed_tokens.weight";
    map.final_norm = names.norm("model.norm");
    map.head = head_or_embedding(index, "lm_head.weight", map.token_embedding, is_tied);
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const std::string block = text("model.layers.", l, ".");
        LayerMap layer;
        layer.attention_norm = names.norm(block + "input_layernorm");
        layer.ffn_norm = names.norm(block + "post_attention_layernorm");
        layer.query = names.linear(block + "self_attn.q_proj");
        layer.key = names.linear(block + "self_attn.k_proj");
        layer.value = names.linear(block + "self_attn.v_proj");
        layer.output = names.linear(block + "self_attn.o_proj");
        layer.query_norm = names.norm(block + "self_attn.q_norm");
        layer.key_norm = names.norm(block + "self_attn.k_norm");
        layer.gate = names.linear(block + "mlp.gate_proj");
        layer.up = names.linear(block + "mlp.up_proj");
        layer.down = names.linear(block + "mlp.down_proj");
        map.layers.push_back(std::move(layer));
    }
    return map;
}

}  // namespace mixtura
