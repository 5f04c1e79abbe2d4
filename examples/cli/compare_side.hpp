// One side of a comparison as the command line says it: "cache=f16,top-k=2", a file's path, or "default".
#pragma once

#include <mixtura/generation.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura::cli {

// What is changed; unset: as the checkpoint or the program has it.
struct CompareSide {
    std::string path;              // of the model
    std::string weights = "keep";  // as parse_weight_mix() reads it
    CacheDTypes cache_dtype = {};
    std::optional<std::int64_t> top_k = {};
    std::optional<float> temperature = {};
    std::optional<float> logit_clamp = {};
    std::optional<float> cumulative_probability = {};
    std::vector<std::int64_t> masked_experts = {};  // in every layer

    bool changes_router() const noexcept {
        return top_k || temperature || logit_clamp || cumulative_probability || !masked_experts.empty();
    }
    // What a generation of this side is made with.
    GenerationOptions generation_options() const;
};

// The settings that parse_side() knows, for the command's help.
inline constexpr const char* kSideSettings =
    "A side is 'default', a model's path, or settings between commas:\n"
    "  file=PATH      another model, with the same vocabulary\n"
    "  cache=DTYPE    of keys and values, as --cache-dtype has it: f16 (where nothing is said), q8, f16+f8, ...\n"
    "  weights=MIX    what 16- and 32-bit weights become, as --weights has it, with + for a comma\n"
    "  top-k=N        experts of a token\n"
    "  temperature=T  of the router: its logits are divided by it\n"
    "  clamp=L        the router's logits are cut to -L to L\n"
    "  share=P        only as many of the experts as reach this share of the probability\n"
    "  without=E+E    these experts are never chosen\n";

// `model`: where the side names none.  INVALID_ARGUMENT, naming the setting.
Result<CompareSide> parse_side(std::string_view text, const std::string& model);

}  // namespace mixtura::cli
