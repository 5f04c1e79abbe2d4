#include "model/weight_mix.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/small_file.hpp"
#include "kernels/layout.hpp"
#include "kernels/quant/encode.hpp"
#include "model/roles.hpp"

namespace mixtura {
namespace {

constexpr std::string_view kRoles[] = {
    "all", "experts", "experts.gate", "experts.up", "experts.down", "shared", "shared.gate", "shared.up", "shared.down",
    "head", "ffn", "ffn.gate", "ffn.up", "ffn.down", "attention", "attention.query", "attention.key", "attention.value",
    "attention.output", "attention.output_gate", "attention.cross", "attention.cross.query", "attention.cross.key",
    "attention.cross.value", "attention.cross.output",
    // of latent attention
    "attention.query_down", "attention.row_down", "attention.heads", "attention.heads.key_up",
    "attention.heads.value_up"};
constexpr std::string_view kRoleList =
    "all, experts, shared, ffn, attention, head, or one of their matrices as in "
    "experts.up";
constexpr std::string_view kDTypeList =
    "keep, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k, iq4_nl, mxfp4, int4_32, int4_64, int4_128, nf4, "
    "f8_e4m3_32 or f8_e4m3_128";

bool is_target(DType dtype) noexcept {
    return dtype != DType::f32 && encoder(dtype) != nullptr && panel_kind(dtype) != PanelKind::file_rows;
}

bool matches(const WeightRule& rule, std::string_view role) {
    return rule.role == "all" || role == rule.role ||
           (role.size() > rule.role.size() && role.substr(0, rule.role.size()) == rule.role &&
            role[rule.role.size()] == '.');
}

Status check_rule(const WeightRule& rule) {
    if (rule.role == "router")
        return error(StatusCode::invalid_argument, "the weights of a router stay as the file has them, but are given ",
                     dtype_name(rule.dtype));
    if (std::find(std::begin(kRoles), std::end(kRoles), rule.role) == std::end(kRoles))
        return error(StatusCode::invalid_argument, quoted(rule.role), " is no role of weights, expected ", kRoleList);
    if (rule.dtype != DType::unknown && !is_target(rule.dtype))
        return error(StatusCode::invalid_argument, "weights cannot become ", dtype_name(rule.dtype), ", expected ",
                     kDTypeList);
    return {};
}

Status add_named(std::string_view name, std::vector<WeightRule>& rules) {
    if (name == "keep") {
        rules.push_back({"all", DType::unknown});
        return {};
    }
    if (name == "mixed") {
        rules.insert(rules.end(), {{"all", DType::q6_k}, {"experts", DType::q4_k}, {"experts.up", DType::q8_0}});
        return {};
    }
    const DType dtype = dtype_from_name(name);
    if (!is_target(dtype))
        return error(StatusCode::invalid_argument, quoted(name), " is no mix of weights, expected mixed, ", kDTypeList,
                     ", or rules as in experts=q4_k");
    rules.push_back({"all", dtype});
    return {};
}

Status add_rule(std::string_view text, std::vector<WeightRule>& rules) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return add_named(text, rules);
    WeightRule rule{std::string(text.substr(0, equals)), DType::unknown};
    const std::string_view value = text.substr(equals + 1);
    if (value != "keep") {
        rule.dtype = dtype_from_name(value);
        if (rule.dtype == DType::unknown)
            return error(StatusCode::invalid_argument, quoted(value), " is no element type for ", quoted(rule.role),
                         ", expected ", kDTypeList);
    }
    MIXTURA_RETURN_IF_ERROR(check_rule(rule));
    rules.push_back(std::move(rule));
    return {};
}

}  // namespace

Result<WeightMix> parse_weight_mix(std::string_view text) noexcept {
    return without_exceptions([&]() -> Result<WeightMix> {
        WeightMix mix;
        for (const std::string_view part : split(text, ',')) MIXTURA_RETURN_IF_ERROR(add_rule(part, mix.rules));
        const bool keeps_all = std::all_of(mix.rules.begin(), mix.rules.end(),
                                           [](const WeightRule& rule) { return rule.dtype == DType::unknown; });
        if (keeps_all) mix.rules.clear();
        return mix;
    });
}

Status apply_mix(const WeightMix& mix, std::span<WeightBinding> bindings) {
    for (const WeightRule& rule : mix.rules) MIXTURA_RETURN_IF_ERROR(check_rule(rule));
    const WeightSource* head = nullptr;
    DType head_dtype = DType::unknown;
    for (WeightBinding& binding : bindings) {
        if (binding.form != WeightForm::packed) continue;
        const std::string role = plain_role(binding.role);
        const auto rule = std::find_if(mix.rules.rbegin(), mix.rules.rend(),
                                       [&](const WeightRule& candidate) { return matches(candidate, role); });
        if (rule != mix.rules.rend()) binding.wanted = rule->dtype;
        // A table in packed form is the head itself.
        if (binding.is_looked_up && head != nullptr && binding.source == *head) binding.wanted = head_dtype;
        if (role != "head") continue;
        head = &binding.source;
        head_dtype = binding.wanted;
    }
    return {};
}

}  // namespace mixtura
