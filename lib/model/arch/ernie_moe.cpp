// ERNIE 4.5 MoE: Llama's layer rotated by neighbouring pairs; softmax scores with a bias that only chooses.
// Source: the owners' modeling file in transformers (Ernie4_5_Moe).
#include "base/error.hpp"
#include "model/arch/common.hpp"
#include "model/arch/family.hpp"

namespace mixtura {

Result<Architecture> describe_ernie_moe(const ModelConfig& config, const WeightIndex& index) {
    ConfigReader reader(config);
    LlamaBase base = read_llama_base(reader, index, {.rope = {RopePairing::interleaved}});
    MixtureSpec mixture =
        read_mixture(reader, base.spec,
                     {{"moe_num_experts", kGgufExperts}, {"moe_k", kGgufTopK}, {"moe_intermediate_size", kGgufWidth}});
    RouterPolicy& policy = mixture.router.policy;
    policy.renormalise = true;
    policy.renormalise_floor = static_cast<float>(reader.real({"moe_norm_min", ""}, 1e-12));
    // GGUF's expert_shared_feed_forward_length is the dense width by the key/value heads: the same for the published
    // sizes, and for no others.
    mixture.experts.shared_width =
        reader.integer({"moe_num_shared_experts", "expert_shared_count"}, 0) * mixture.experts.width;
    const std::int64_t first = reader.integer({"moe_layer_start_index", "leading_dense_block_count"}, 0);
    std::int64_t last = reader.integer({"moe_layer_end_index", ""}, -1);
    if (last < 0) last = base.layer_count - 1;
    const std::int64_t step = reader.integer({"moe_layer_interval", "interleave_moe_layer_step"}, 1);
    reader.only({"use_bias", ""}, {"false"});
    reader.ignore({"moe_capacity", "moe_gate", "moe_use_aux_free", "moe_aux_loss_lambda", "moe_orthogonal_loss_lambda",
                   "moe_z_loss_lambda", "moe_use_hard_gate", "moe_multimodal_paired_experts",
                   "num_nextn_predict_layers"});
    MIXTURA_RETURN_IF_ERROR(reader.status());

    for (std::int64_t l = 0; l < base.layer_count; ++l) {
        base.spec.layers.push_back(base.layer);
        if (l >= first && l <= last && step > 0 && (l + 1) % step == 0) base.spec.layers.back().mixture = mixture;
    }
    return complete_architecture(reader, index, std::move(base.spec), base.is_tied, "mlp",
                                 {.selection_bias = "moe_statics.e_score_correction_bias", .shared = "shared_experts"});
}

}  // namespace mixtura
