#include <algorithm>

#include "base/error.hpp"
#include "model/arch/family.hpp"

namespace mixtura {
namespace {

constexpr Family kFamilies[] = {
    {"llama", "llama", describe_llama}, {"mistral", "", describe_llama}, {"qwen2", "qwen2", describe_llama},
    {"qwen3", "qwen3", describe_llama}, {"gpt2", "gpt2", describe_gpt2}, {"bloom", "bloom", describe_bloom},
};

}  // namespace

std::span<const Family> families() noexcept { return kFamilies; }

Result<Architecture> describe_architecture(const ModelFiles& files) {
    const std::string& name = files.config.facts.architecture;
    const bool is_gguf = files.format == CheckpointFormat::gguf;
    const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& candidate) {
        return !name.empty() && (is_gguf ? candidate.gguf_name : candidate.hub_name) == name;
    });
    if (family != std::end(kFamilies)) return family->describe(files.config, files.index);
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
