// The only getenv of the library, and the table of every variable it reads.  Variables alter diagnostics and what tests
// choose, never results silently.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace mixtura {

enum class EnvVariable {
    force_isa,  // MIXTURA_FORCE_ISA: lower the instruction set, for tests
};

struct EnvVariableInfo {
    EnvVariable variable;
    const char* name;
    std::string_view meaning;
};

std::span<const EnvVariableInfo> env_variables() noexcept;

// The variable's text, or nothing where it is unset or empty.  The view is valid until the host changes its
// environment. Threads: any-thread, as long as no other thread calls setenv.
std::optional<std::string_view> env_value(EnvVariable variable) noexcept;

}  // namespace mixtura
