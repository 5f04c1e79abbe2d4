// Facts about the machine the process runs on: instruction sets the processor *and* the kernel grant, processors this
// process may use, cgroup limits, memory, NUMA nodes.  Read afresh at each call (a container's limits can change);
// holds no state.  The readers of /sys and /proc take a root folder, so that tests can show them other machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct CpuFeatures {
    bool avx2 = false;      // with fma, f16c and bmi2, which every AVX2 kernel of ours also uses
    bool avx_vnni = false;  // 256-bit VEX vpdpbusd
    bool avx512 = false;    // f, bw, dq, vl, and OS support for zmm and mask state
    bool avx512_vnni = false;
    bool avx512_bf16 = false;
    bool amx_tile = false;  // the CPU has it; the OS is asked for permission only when a kernel wants it
    bool amx_int8 = false;
    bool amx_bf16 = false;
    bool neon_dotprod = false;
    bool neon_i8mm = false;
};
CpuFeatures cpu_features() noexcept;

// Processors this process can keep busy: min(affinity mask, cgroup v1/v2 quota rounded up, online processors), at
// least 1.
int usable_cpu_count(const std::string& root = "/");

// CPU quota in whole-processor units (1.5 = one and a half); nothing where no cgroup limits this process.  The tightest
// limit on the path from this process' group to the root counts.
std::optional<double> cgroup_cpu_quota(const std::string& root = "/");

// Memory limit of this process' cgroup in bytes; nothing where there is none.
std::optional<std::uint64_t> cgroup_memory_limit_bytes(const std::string& root = "/");

// Physical memory of the machine in bytes (MemTotal); 0 where /proc cannot be read.
std::uint64_t physical_memory_bytes(const std::string& root = "/");

// What of it the kernel would give without swapping (MemAvailable); nothing where /proc does not say.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "/");

// Processors this process may run on, ascending; nothing where the kernel does not tell.
std::optional<std::vector<int>> allowed_cpus();

// A group of processors and the memory that is nearest to them.
struct NumaNode {
    int id = 0;             // the kernel's number for it
    std::vector<int> cpus;  // ascending
    bool operator==(const NumaNode&) const = default;
};

// The nodes that have processors of `allowed`, with those alone, by id.  One node with all of `allowed` where the
// kernel tells nothing, or something that cannot be: a list that is none, a processor in two nodes, an allowed one in
// no node. (A thread that is kept on its node's processors must not be kept off the others by a lie about them.)
std::vector<NumaNode> numa_nodes(const std::string& root = "/",
                                 const std::optional<std::vector<int>>& allowed = allowed_cpus());

// "0-3,8" as {0, 1, 2, 3, 8}; nothing where the text is not such a list or names more than 65,536 processors.
std::optional<std::vector<int>> parse_cpu_list(std::string_view list);

}  // namespace mixtura
