#include <algorithm>

#include "base/error.hpp"
#include "model/arch/family.hpp"
#include "weights/quantisation.hpp"

namespace mixtura {
namespace {

constexpr Family kFamilies[] = {
    {"llama", "llama", describe_llama},
    {"mistral", "", describe_llama},
    {"mixtral", "", describe_llama},
    {"qwen2", "qwen2", describe_llama},
    {"qwen3", "qwen3", describe_llama},
    {"qwen2_moe", "qwen2moe", describe_qwen_moe},
    {"qwen3_moe", "qwen3moe", describe_qwen_moe},
    {"qwen3_next", "qwen3next", describe_qwen3_next},
    {"olmoe", "olmoe", describe_olmoe},
    {"phimoe", "phimoe", describe_phimoe},
    {"granitemoe", "granitemoe", describe_granite_moe},
    {"granitemoeshared", "", describe_granite_moe},
    {"deepseek", "deepseek", describe_deepseek},
    {"deepseek_v2", "deepseek2", describe_deepseek},
    {"deepseek_v3", "", describe_deepseek},
    {"deepseek_v32", "", describe_deepseek},
    {"glm4_moe", "glm4moe", describe_glm4_moe},
    {"glm4_moe_lite", "", describe_deepseek},
    {"ernie4_5_moe", "ernie4_5-moe", describe_ernie_moe},
    {"hunyuan_v1_moe", "hunyuan-moe", describe_hunyuan_moe},
    {"gpt_oss", "gpt-oss", describe_gpt_oss},
    {"llama4_text", "llama4", describe_llama4},
    {"dbrx", "dbrx", describe_dbrx},
    {"minimax_m2", "minimax-m2", describe_minimax_m2},
    {"exaone_moe", "", describe_exaone_moe},
    {"bailing_moe", "", describe_bailing_moe},
    {"afmoe", "", describe_afmoe},
    {"jetmoe", "", describe_jetmoe},
    {"switch_transformers", "", describe_switch_transformers},
    {"gpt2", "gpt2", describe_gpt2},
    {"bloom", "bloom", describe_bloom},
    {"mixtura", "", describe_free_form},
};

// Weights packed by another program's scheme: their numbers mean nothing without it.
Result<Quantisation> resolve_quantisation(ModelFiles& files) {
    if (files.format == CheckpointFormat::gguf) return Quantisation();
    const auto config = files.config.values.root().find("quantization_config");
    Quantisation quantisation;
    if (config) {
        MIXTURA_ASSIGN_OR_RETURN(quantisation, read_quantisation(*config));
    }
    MIXTURA_RETURN_IF_ERROR(resolve_packed_tensors(quantisation, files.index));
    return quantisation;
}

// Before a family builds anything for each layer: what a configuration claims costs no more than what there is.
Status check_layer_count(const ModelFiles& files) {
    constexpr std::int64_t kLayersMax = 4096;
    const std::int64_t layers = files.config.facts.layer_count;
    if (layers > kLayersMax)
        return error(StatusCode::corrupt_file, "the configuration's layer count is ", layers, ", expected 1 to 4096");
    const std::size_t tensors = files.index.tensors.size();
    if (layers <= static_cast<std::int64_t>(tensors)) return {};
    return error(StatusCode::corrupt_file, "the configuration states ", layers,
                 " layers, more than the model has tensors (", tensors, ")");
}

}  // namespace

std::span<const Family> families() noexcept { return kFamilies; }

Result<Architecture> describe_architecture(ModelFiles& files) {
    const std::string& name = files.config.facts.architecture;
    const bool is_gguf = files.format == CheckpointFormat::gguf;
    const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& candidate) {
        return !name.empty() && (is_gguf ? candidate.gguf_name : candidate.hub_name) == name;
    });
    if (family != std::end(kFamilies)) {
        MIXTURA_ASSIGN_OR_RETURN(Quantisation quantisation, resolve_quantisation(files));
        MIXTURA_RETURN_IF_ERROR(check_layer_count(files));
        MIXTURA_ASSIGN_OR_RETURN(Architecture architecture, family->describe(files.config, files.index));
        for (std::string& warning : quantisation.warnings) architecture.warnings.push_back(std::move(warning));
        return architecture;
    }
    std::string known;
    for (const Family& candidate : kFamilies) {
        const std::string_view word = is_gguf ? candidate.gguf_name : candidate.hub_name;
        if (!word.empty()) known += text(known.empty() ? "" : ", ", word);
    }
    return error(
        StatusCode::unknown_architecture,
        name.empty() ? "the model states no architecture" : text("the architecture ", quoted(name), " is not known"),
        ", expected one of ", known);
}

}  // namespace mixtura
