// The families this version knows.  A family is one function from a configuration to an Architecture; adding one
// touches this folder only: a file with the function, and a row in registry.cpp.
#pragma once

#include <mixtura/status.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

#include "formats/model_files.hpp"
#include "model/spec.hpp"

namespace mixtura {

// `index` answers only which tensors exist (tied heads, optional biases); shapes are checked when the weights are
// bound.
// config.facts.layer_count was checked: 0 to 4096, and no more layers than tensors.
using DescribeFamily = Result<Architecture> (*)(const ModelConfig& config, const WeightIndex& index);

struct Family {
    std::string_view hub_name;   // config.json's model_type
    std::string_view gguf_name;  // general.architecture
    DescribeFamily describe;
};

std::span<const Family> families() noexcept;

// UNKNOWN_ARCHITECTURE, listing the known ones; else what the family says.  Weights that the files hold in several
// tensors have one entry in files.index afterwards, under the name that the family asks for.
Result<Architecture> describe_architecture(ModelFiles& files);

Result<Architecture> describe_afmoe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_bailing_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_bloom(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_dbrx(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_deepseek(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_ernie_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_exaone_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_free_form(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_glm4_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_gpt2(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_gpt_oss(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_granite_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_hunyuan_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_jetmoe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_llama(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_llama4(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_minimax_m2(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_olmoe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_phimoe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_qwen3_next(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_qwen_moe(const ModelConfig& config, const WeightIndex& index);
Result<Architecture> describe_switch_transformers(const ModelConfig& config, const WeightIndex& index);

}  // namespace mixtura
