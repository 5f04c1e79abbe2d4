// What the checks look at: a root folder for /proc and /sys, and what only system calls tell.  Gathered once a
// check_health(); tests make up their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/machine.hpp"

namespace mixtura {

struct Surroundings {
    std::string root = "/";
    CpuFeatures features = {};
    std::optional<std::string> forced_isa = {};  // MIXTURA_FORCE_ISA

    int online_cpus = 1;
    int affinity_cpus = 1;  // of them, those the calling thread may run on

    // Limits of this process in bytes; nothing where there is none.
    std::optional<std::uint64_t> address_space_max = {};
    std::optional<std::uint64_t> data_max = {};
    std::optional<std::uint64_t> locked_max = {};

    std::string kernel_release = {};  // "6.1.0-18-amd64"; empty where the kernel does not say
    std::string libc_built = {};      // "2.36", of glibc; empty for any other library
    std::string libc_here = {};
    std::optional<int> io_uring_errno = 0;  // 0: io_uring_setup works; nothing: not tried, see HealthOptions
    std::uint64_t clock_step_ns = 0;
};

Surroundings look_around(bool tries_filtered_calls);

// Whether /proc/self/status names a seccomp filter (or strict mode), or does not say.
bool may_be_filtered(const std::string& root);

}  // namespace mixtura
