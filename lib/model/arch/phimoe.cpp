// Phi-3.5-MoE: Llama's layer with layer norms that have biases, and two experts a token chosen by SparseMixer.
// Source: Abdin et al. 2024 (arXiv 2404.14219), 2; SparseMixer: Liu et al. 2024 (arXiv 2409.12136); the owners'
// modeling file in transformers.
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_phimoe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index);
    const NormSpec norm{NormKind::layer, base.epsilon};
    base.spec.final_norm = base.layer.attention_norm = base.layer.ffn_norm = norm;
    base.layer.attention.window_tokens = reader.integer({"sliding_window", "attention.sliding_window"}, 0);
    base.layer.mixture = read_mixture(reader, base.spec,
                                      {{"num_local_experts", kGgufExperts},
                                       {"num_experts_per_tok", kGgufTopK},
                                       {"intermediate_size", "feed_forward_length"}});
    RouterPolicy& policy = base.layer.mixture->router.policy;
    policy.scoring = RouterScoring::sparsemixer;
    policy.sparsemixer_epsilon = static_cast<float>(reader.real({"router_jitter_noise", ""}, 0.01));
    reader.ignore({"input_jitter_noise", "lm_head_bias"});
    MIXTURA_RETURN_IF_ERROR(reader.status());
    base.spec.layers.assign(static_cast<std::size_t>(base.layer_count), base.layer);
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "block_sparse_moe",
                                 {.gate = "w1", .up = "w3", .down = "w2"});
}

}  // namespace mixtura
