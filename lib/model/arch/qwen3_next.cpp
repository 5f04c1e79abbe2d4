// Qwen3-Next: three layers with the gated delta rule, then one of attention whose output a gate of its own weighs;
// mixtures with a weighed shared expert; norms whose weights lie around 0.
// Sources: Yang et al. 2024 (arXiv 2412.06464); the owners' modeling file in transformers; for GGUF llama.cpp's
// converter, which adds the norms' 1, has decays ready for use, and joins queries, keys and values of the recurrent
// layers (or, in early files, keeps the owners' order).
#include "base/error.hpp"
#include "model/arch/family.hpp"
#include "model/arch/qwen.hpp"

namespace mixtura {
namespace {

RecurrentSpec read_recurrent(ConfigReader& reader, float epsilon) {
    RecurrentSpec spec;
    spec.key_heads = reader.integer({"linear_num_key_heads", "ssm.group_count"});
    spec.value_heads = reader.integer({"linear_num_value_heads", "ssm.time_step_rank"});
    spec.key_width = reader.integer({"linear_key_head_dim", "ssm.state_size"});
    if (reader.is_gguf()) {
        const std::int64_t all = reader.integer({"", "ssm.inner_size"});
        spec.value_width = spec.value_heads > 0 ? all / spec.value_heads : 0;
    } else {
        spec.value_width = reader.integer({"linear_value_head_dim", ""});
    }
    spec.taps = reader.integer({"linear_conv_kernel_dim", "ssm.conv_kernel"});
    spec.output_norm = {NormKind::rms, epsilon};
    spec.is_decay_logarithmic = !reader.is_gguf();
    return spec;
}

// Per layer: as layer_types says, else all but every full_attention_interval-th; in GGUF those that have the tensors.
std::vector<bool> recurrent_layers(ConfigReader& reader, const WeightIndex& index, std::int64_t layer_count) {
    const std::int64_t interval = reader.integer({"full_attention_interval", ""}, 4);
    std::vector<bool> recurrent;
    if (reader.is_gguf()) {
        for (std::int64_t l = 0; l < layer_count; ++l)
            recurrent.push_back(index.find(text("blk.", l, ".ssm_out.weight")) != nullptr);
    } else if (const auto types = reader.value({"layer_types", ""}); types && types->is_array()) {
        for (const JsonValue type : types->elements()) {
            const std::string_view name = type.as_string().value_or("");
            if (name != "linear_attention" && name != "full_attention") {
                reader.fail(error(StatusCode::unsupported, "the configuration's 'layer_types' has ", quoted(name),
                                  ", expected linear_attention or full_attention for qwen3_next"));
            }
            recurrent.push_back(name == "linear_attention");
        }
        if (static_cast<std::int64_t>(recurrent.size()) < layer_count) {
            reader.fail(error(StatusCode::corrupt_file, "the configuration's 'layer_types' has ", recurrent.size(),
                              " entries, expected ", layer_count, ", the number of layers"));
        }
    } else {
        for (std::int64_t l = 0; l < layer_count; ++l) recurrent.push_back(interval < 1 || (l + 1) % interval != 0);
    }
    recurrent.resize(static_cast<std::size_t>(layer_count));
    return recurrent;
}

// The owners' order: each key head with its queries, keys, values and gates, and with its rates and decays.
void split_owners_projection(const LinearSource& fused, const RecurrentSpec& spec, LayerMap& layer) {
    const std::int64_t values = spec.value_elements() / spec.key_heads, keys = spec.key_width;
    const std::int64_t stride = 2 * (keys + values);
    layer.query = with_rows(fused, {0, keys, stride});
    layer.key = with_rows(fused, {keys, keys, stride});
    layer.value = with_rows(fused, {2 * keys, values, stride});
    layer.recurrent.gate = with_rows(fused, {2 * keys + values, values, stride});
}
void split_gates(const LinearSource& fused, const RecurrentSpec& spec, RecurrentMap& map) {
    const std::int64_t heads = spec.value_heads / spec.key_heads;
    map.rate = with_rows(fused, {0, heads, 2 * heads});
    map.decay = with_rows(fused, {heads, heads, 2 * heads});
}

// Files have the taps of a channel together, kernels want the channels of a tap.
WeightSource convolution(std::string tensor) {
    WeightSource source;
    source.tensor = std::move(tensor);
    source.is_transposed = true;
    return source;
}

void map_hub_layer(const TensorNames& names, const std::string& stem, const RecurrentSpec& spec, LayerMap& layer) {
    split_owners_projection(names.linear(stem + "in_proj_qkvz"), spec, layer);
    split_gates(names.linear(stem + "in_proj_ba"), spec, layer.recurrent);
    layer.recurrent.convolution = convolution(stem + "conv1d.weight");
    layer.recurrent.decay_factor.tensor = stem + "A_log";
    layer.recurrent.decay_bias.tensor = stem + "dt_bias";
    layer.recurrent.output_norm = names.norm(stem + "norm");
    layer.output = names.linear(stem + "out_proj");
}

void map_gguf_layer(const TensorNames& names, const std::string& block, const RecurrentSpec& spec, LayerMap& layer) {
    const std::int64_t keys = spec.key_elements(), values = spec.value_elements();
    if (names.index.find(block + "ssm_in.weight") != nullptr) {
        split_owners_projection(names.linear(block + "ssm_in"), spec, layer);
    } else {
        const LinearSource fused = names.linear(block + "attn_qkv");
        layer.query = with_rows(fused, {0, keys, keys});
        layer.key = with_rows(fused, {keys, keys, keys});
        layer.value = with_rows(fused, {2 * keys, values, values});
        layer.recurrent.gate = names.linear(block + "attn_gate");
    }
    split_gates(names.linear(block + "ssm_ba"), spec, layer.recurrent);
    layer.recurrent.convolution = convolution(block + "ssm_conv1d.weight");
    layer.recurrent.decay_factor.tensor = block + "ssm_a";
    layer.recurrent.decay_bias.tensor = block + "ssm_dt.bias";
    layer.recurrent.output_norm = names.norm(block + "ssm_norm");
    layer.output = names.linear(block + "ssm_out");
}

void map_layers(const TensorNames& names, bool is_gguf, Architecture& out) {
    for (std::size_t l = 0; l < out.map.layers.size(); ++l) {
        const LayerSpec& spec = out.spec.layers[l];
        LayerMap& layer = out.map.layers[l];
        if (spec.recurrent) {
            const std::string stem = is_gguf ? text("blk.", l, ".") : text("model.layers.", l, ".linear_attn.");
            (is_gguf ? map_gguf_layer : map_hub_layer)(names, stem, *spec.recurrent, layer);
        } else {
            // Each head's queries, then its gates; behind all of them the keys, where all lie in one tensor.
            const std::int64_t width = spec.attention.key_width, queries = 2 * spec.attention.query_heads * width;
            const std::int64_t keys = spec.attention.kv_heads * width;
            if (layer.query.weight.tensor == layer.key.weight.tensor) {
                layer.key = with_rows(layer.key, {queries, keys, keys});
                layer.value = with_rows(layer.value, {queries + keys, keys, keys});
            }
            layer.output_gate = with_rows(layer.query, {width, width, 2 * width});
            layer.query = with_rows(layer.query, {0, width, 2 * width});
        }
    }
}

}  // namespace

Result<Architecture> describe_qwen3_next(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    const NormSpec norm{NormKind::rms, base.epsilon, !reader.is_gguf()};
    base.spec.final_norm = base.layer.attention_norm = base.layer.ffn_norm = norm;
    base.layer.attention.query_norm = base.layer.attention.key_norm = norm;
    base.layer.attention.has_output_gate = true;
    const MixtureSpec mixture = read_qwen_mixture(reader, config, base.spec, true, true);
    const std::vector<bool> sparse = sparse_layers_of_qwen(reader, index, base.layer_count);
    const RecurrentSpec recurrent = read_recurrent(reader, base.epsilon);
    const std::vector<bool> is_recurrent = recurrent_layers(reader, index, base.layer_count);
    MIXTURA_RETURN_IF_ERROR(reader.status());
    if (recurrent.key_heads < 1 || recurrent.value_heads < 1) {
        return error(StatusCode::corrupt_file, "the configuration has ", recurrent.key_heads,
                     " recurrent key heads and ", recurrent.value_heads, " value heads, expected at least 1 of each");
    }

    for (std::size_t l = 0; l < sparse.size(); ++l) {
        base.spec.layers.push_back(base.layer);
        if (is_recurrent[l]) base.spec.layers.back().recurrent = recurrent;
        if (sparse[l]) base.spec.layers.back().mixture = mixture;
    }
    Architecture out =
        complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp", qwen_mixture_names(mixture));
    map_layers({index}, reader.is_gguf(), out);
    return out;
}

}  // namespace mixtura
