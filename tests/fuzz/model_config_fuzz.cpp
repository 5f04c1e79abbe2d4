// Descriptions of models out of arbitrary configurations: config.json, or GGUF metadata where the text has the key
// "general.architecture" (written as one JSON object, as ModelConfig holds it).  Behind them are tensors of names that
// mean nothing, and then of some that do, but no files.  Whatever the text claims, describing it and forecasting its
// memory end in an answer or a refusal, and build no more than there are tensors for.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "model/arch/family.hpp"
#include "model/core.hpp"

namespace {

using namespace mixtura;

Result<ModelConfig> gguf_config(JsonDocument document) {
    ModelConfig config;
    config.source = CheckpointFormat::gguf;
    config.values = std::move(document);
    const JsonValue root = config.values.root();
    config.facts.architecture = root.find("general.architecture")->as_string().value_or("");
    const auto size = [&](std::string_view key) -> std::int64_t {
        const auto value = root.find(text(config.facts.architecture, ".", key));
        const std::int64_t number = value ? value->as_integer().value_or(0) : 0;
        return number < 0 || number > (std::int64_t{1} << 40) ? 0 : number;  // as the reader of metadata has it
    };
    config.facts.layer_count = size("block_count");
    config.facts.expert_count = size("expert_count");
    config.facts.vocabulary_size = size("vocab_size");
    return config;
}

// Tensors that stand for stacked experts, latent heads and routers, so that the maps behind them are built too.
WeightIndex some_index(bool has_names) {
    constexpr std::int64_t kExtents[] = {16, 64, 32};
    WeightIndex index;
    for (const char* name :
         {"blk.0.ffn_down_exps.weight", "blk.0.ffn_gate_up_exps.weight", "blk.0.attn_k_b.weight",
          "blk.0.attn_kv_b.weight", "blk.0.ffn_gate_inp.weight", "blk.0.attn_qkv.weight",
          "model.layers.0.mlp.experts.down_proj", "model.layers.0.mlp.experts.down_proj_blocks",
          "model.layers.0.self_attn.kv_b_proj.weight", "model.layers.0.block_sparse_moe.output_linear.weight",
          "transformer.blocks.0.ffn.experts.mlp.w2", "model.layers.0.feed_forward.experts.down_proj",
          "model.layers.0.self_attn.q_norm.weight"}) {
        TensorInfo tensor;
        tensor.name = has_names ? name : text("unknown.", index.tensors.size());
        tensor.dtype = DType::bf16;
        tensor.shape = *Shape::from(kExtents);
        tensor.size_bytes = 16 * 64 * 32 * 2;
        index.tensors.push_back(tensor);
    }
    index.sort_names();
    return index;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view content(reinterpret_cast<const char*>(data), size);
    auto document = JsonDocument::parse(content, "fuzz.json");
    if (!document || !document->root().is_object()) return 0;
    const bool is_gguf = document->root().find("general.architecture").has_value();
    auto config = is_gguf ? gguf_config(*std::move(document)) : hub_model_config(content, {}, "fuzz");
    if (!config) return 0;
    ModelFiles files;
    files.format = files.config.source = config->source;
    files.config = *std::move(config);
    for (const bool has_names : {false, true}) {
        files.index = some_index(has_names);
        const auto architecture = describe_architecture(files);
        if (!architecture) continue;
        if (!has_names) {
            for (const LayerMap& layer : architecture->map.layers) {
                const bool is_short = layer.mixture.experts.size() <= 1 && layer.latent.key_up.size() <= 1;
                if (!is_short) std::abort();  // more was built than is there
            }
        }
        (void)predict_weights(files, *architecture);
    }
    return 0;
}
