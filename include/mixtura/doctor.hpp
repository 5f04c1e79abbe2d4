// Whether this machine is fit for this build, one sentence a check with what to do about it; and whether the arithmetic
// of this build gives on this processor what it was written to give.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

enum class HealthVerdict : std::int32_t {
    ok = 0,
    note = 1,     // works; something is worth knowing
    warning = 2,  // works, slower or in less memory than it could
    failure = 3,  // does not work
};
std::string_view verdict_name(HealthVerdict verdict) noexcept;  // "ok", "note", ...; static storage

struct HealthCheck {
    std::string name = {};  // permanent, of letters, digits, '_' and '.': "memory_limits", "answers.avx2"
    HealthVerdict verdict = HealthVerdict::ok;
    std::string found = {};   // what was found, one line of UTF-8
    std::string remedy = {};  // what changes it, one line; empty where nothing need be done
};

struct HealthOptions {
    std::string path = {};          // a model's file or folder, or a folder for caches: its disk is looked at too
    bool has_known_answers = true;  // runs what self_test() runs
    // Whether io_uring works is known once it is tried.  Where a seccomp filter is in force it is left alone, for some
    // filters end the process at a call they do not know; a program that may be ended can ask for it all the same.
    bool tries_filtered_calls = false;
};

// Looks at the processor, the limits of this process, memory, the kernel and, with a path, at its disk (in a folder
// that may be written to, 4 KiB go into a file without a name, which is gone at once); then runs the known answers.  A
// machine that is ill is no failed Status: that is OUT_OF_HOST_MEMORY alone.  The order of checks is fixed; new
// versions may add some.  Threads: any-thread.   Blocks: on the path's disk.   Allocates: 4 MiB.
Result<std::vector<HealthCheck>> check_health(const HealthOptions& options = {}) noexcept;

// "warning  huge_pages: never; as root, ..." without a line end.
Result<std::string> health_line(const HealthCheck& check) noexcept;
HealthVerdict worst_verdict(std::span<const HealthCheck> checks) noexcept;

// Known answers: a small mixture (Router and ExpertPool) in every weight format that has a kernel, and attention over
// every cache format, on every instruction set that this processor has (up to MIXTURA_FORCE_ISA, where that is set;
// amx_int8 only where it is set to that).
// Each has to give the bits that are written down in the library.  INTERNAL names the back-end, the case and the first
// wrong number; INVALID_ARGUMENT and NO_BACKEND for a MIXTURA_FORCE_ISA that cannot be; OUT_OF_HOST_MEMORY.  Reads and
// writes no file and starts no thread.  Threads: any-thread.   Blocks: no; a quarter of a second.   Allocates: 4 MiB.
Status self_test() noexcept;

}  // namespace mixtura
