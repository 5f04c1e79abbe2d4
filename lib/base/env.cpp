#include "base/env.hpp"

#include <cstdlib>

namespace mixtura {
namespace {

constexpr EnvVariableInfo kTable[] = {
    {EnvVariable::force_isa, "MIXTURA_FORCE_ISA",
     "use this instruction set and none above it; an error where the machine lacks it"},
};

}  // namespace

std::span<const EnvVariableInfo> env_variables() noexcept { return kTable; }

std::optional<std::string_view> env_value(EnvVariable variable) noexcept {
    for (const EnvVariableInfo& info : kTable) {
        if (info.variable != variable) continue;
        const char* value = std::getenv(info.name);
        if (value != nullptr && *value != '\0') return value;
    }
    return std::nullopt;
}

}  // namespace mixtura
