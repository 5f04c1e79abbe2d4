// The back-ends this build has, as objects a program can list: one an instruction set, narrowest first.  Whoever owns a
// computation (a Model, a test) chooses one and hands its table to every kernel; there is no active back-end anywhere.
#pragma once

#include <mixtura/status.hpp>

#include <optional>
#include <span>
#include <string_view>

#include "base/machine.hpp"
#include "kernels/kernel_table.hpp"

namespace mixtura {

struct Backend {
    std::string_view name;  // what MIXTURA_FORCE_ISA calls it
    std::string_view description;
    std::string_view required_isa;  // "" for none beyond the baseline
    bool is_deterministic = true;   // same bits as every other deterministic back-end
    bool is_supported = false;      // processor and kernel grant it here
    bool is_chosen_unasked = true;  // false: only a wish chooses it, for no processor at hand could run it yet
    const KernelTable* table = nullptr;
};

// All of this build, narrowest first; the reference is always there and always supported.  Threads: any-thread.
std::span<const Backend> backends() noexcept;

// Whether a machine of these features has what one of backends() requires.
bool is_granted(const Backend& backend, const CpuFeatures& features) noexcept;

// The widest that `features` grant, or the one named by `forced` ("scalar" is another name of "ref"): INVALID_ARGUMENT
// for a name that is no back-end, NO_BACKEND for one above what the machine has, or whose results are wrong here.
Result<const Backend*> choose_backend(std::optional<std::string_view> forced, const CpuFeatures& features);

// The same with this machine's features and MIXTURA_FORCE_ISA.
Result<const Backend*> choose_backend();

}  // namespace mixtura
