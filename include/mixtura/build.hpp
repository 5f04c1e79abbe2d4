// What this build of the library is and has: its version, how it was made, its sets of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mixtura {

std::string_view version_text() noexcept;  // "0.1.0"; static storage, NUL-terminated

// A line each: version, compiler, C library, processor family, checks.  Threads: any-thread.
std::string build_text();

// One set of kernels; texts are static and NUL-terminated.
struct BackendInfo {
    std::string_view name;  // "avx512_vnni"; what MIXTURA_FORCE_ISA calls it
    std::string_view description;
    bool is_deterministic = true;  // same bits as every other that is
    bool is_supported = false;     // by this processor and kernel
};

// All of this build, narrowest instruction set first.  Threads: any-thread.
std::span<const BackendInfo> backend_list() noexcept;

// What a model opened now would use; empty where MIXTURA_FORCE_ISA asks for one that is not here.
std::string_view chosen_backend_name() noexcept;

}  // namespace mixtura
