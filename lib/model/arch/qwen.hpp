// What Qwen's mixture families share: sizes and routing of their mixtures, and which layers have one.
#pragma once

#include <vector>

#include "model/arch/common.hpp"

namespace mixtura {

// With a shared expert, weighed by a sigmoid, where `may_share` and the configuration gives it a width.
MixtureSpec read_qwen_mixture(ConfigReader& reader, const ModelConfig& config, const ModelSpec& spec, bool may_share,
                              bool renormalises_in_gguf);

// Per layer: every decoder_sparse_step-th one but those of mlp_only_layers; in GGUF those that have a router.
std::vector<bool> sparse_layers_of_qwen(ConfigReader& reader, const WeightIndex& index, std::int64_t layer_count);

// Names of the parts of their mixtures on the hub.
HubMixtureNames qwen_mixture_names(const MixtureSpec& mixture);

}  // namespace mixtura
