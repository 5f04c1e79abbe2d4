#include "base/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/number.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace mixtura {
namespace {

constexpr int kCpusMax = 65536;  // well above the 8192 that kernels are built for

// Folders of this process' cgroup for one controller, from its own group up to the hierarchy's root.
// /proc/self/cgroup lines read "hierarchy:controllers:path"; version 2 is the line "0::path".
std::vector<std::string> cgroup_folders(const std::string& root, std::string_view controller, bool version2) {
    constexpr std::size_t kPathBytesMax = 4096;  // the kernel's own limit
    std::vector<std::string> folders;
    const auto groups = read_small_file(root + "/proc/self/cgroup");
    if (!groups) return folders;
    for (const std::string_view line : split(*groups, '\n')) {
        const auto fields = split(line, ':');
        if (fields.size() < 3) continue;
        const auto controllers = split(fields[1], ',');
        const bool matches = version2
                                 ? fields[0] == "0" && fields[1].empty()
                                 : std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
        if (!matches) continue;
        const std::string base = version2 ? root + "/sys/fs/cgroup" : text(root, "/sys/fs/cgroup/", controller);
        std::string path(line.substr(fields[0].size() + fields[1].size() + 2));  // a path may hold colons
        if (path.size() > kPathBytesMax) break;
        while (!path.empty() && path != "/") {
            folders.push_back(base + path);
            path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
        }
        folders.push_back(base);
        break;
    }
    return folders;
}

// A line of /proc/meminfo, as in "MemTotal:       24656900 kB".
std::optional<std::uint64_t> meminfo_bytes(const std::string& root, std::string_view key) {
    const auto content = read_small_file(root + "/proc/meminfo");
    const auto value = content ? value_of(*content, key) : std::nullopt;
    const auto kilobytes = value ? parse_integer<std::uint64_t>(value->substr(0, value->find(' '))) : std::nullopt;
    return kilobytes ? checked_multiply<std::uint64_t>(*kilobytes, 1024) : std::nullopt;
}

template <class T>
void keep_smaller(std::optional<T>& least, T value) {
    if (!least || value < *least) least = value;
}

// Where there is no limit, version 1 has a share of -1 and version 2 the word "max", which is no number.
void keep_smaller_quota(std::optional<double>& least, std::string_view share_text, std::string_view period_text) {
    const auto share = parse_double(share_text), period = parse_double(period_text);
    if (share && period && *share > 0 && *period > 0 && std::isfinite(*share / *period))
        keep_smaller(least, *share / *period);
}

}  // namespace

CpuFeatures cpu_features() noexcept {
    CpuFeatures features;
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return features;
    const bool has_fma = (ecx & bit_FMA) != 0, has_f16c = (ecx & bit_F16C) != 0;
    if ((ecx & bit_OSXSAVE) == 0) return features;
    // XCR0 says which register state the kernel saves; xgetbv itself needs no feature beyond OSXSAVE.
    unsigned xcr_low = 0, xcr_high = 0;
    __asm__ volatile("xgetbv" : "=a"(xcr_low), "=d"(xcr_high) : "c"(0));
    const bool saves_ymm = (xcr_low & 0x6) == 0x6, saves_zmm = (xcr_low & 0xE6) == 0xE6;
    const bool saves_tiles = (xcr_low & 0x60000) == 0x60000;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return features;
    const unsigned ebx7 = ebx, ecx7 = ecx, edx7 = edx;
    const auto bit = [](unsigned word, int index) { return (word >> index & 1U) != 0; };
    features.avx2 = saves_ymm && bit(ebx7, 5) && bit(ebx7, 8) && has_fma && has_f16c;
    features.avx512 = features.avx2 && saves_zmm && bit(ebx7, 16) && bit(ebx7, 17) && bit(ebx7, 30) && bit(ebx7, 31);
    features.avx512_vnni = features.avx512 && bit(ecx7, 11);
    features.amx_bf16 = saves_tiles && bit(edx7, 22);
    features.amx_tile = saves_tiles && bit(edx7, 24);
    features.amx_int8 = saves_tiles && bit(edx7, 25);
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
        features.avx_vnni = features.avx2 && bit(eax, 4);
        features.avx512_bf16 = features.avx512 && bit(eax, 5);
    }
#elif defined(__aarch64__)
    constexpr unsigned long kHwcapAsimdDp = 1UL << 20, kHwcap2I8mm = 1UL << 13;
    features.neon_dotprod = (getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0;
    features.neon_i8mm = (getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0;
#endif
    return features;
}

std::optional<double> cgroup_cpu_quota(const std::string& root) {
    std::optional<double> quota;
    for (const std::string& folder : cgroup_folders(root, "cpu", true)) {
        const auto line = read_small_file(folder + "/cpu.max");  // "max 100000" or "150000 100000"
        if (!line) continue;
        const auto fields = split(trimmed(*line), ' ');
        if (fields.size() == 2) keep_smaller_quota(quota, fields[0], fields[1]);
    }
    for (const std::string& folder : cgroup_folders(root, "cpu", false)) {
        const auto share = read_small_file(folder + "/cpu.cfs_quota_us");
        const auto period = read_small_file(folder + "/cpu.cfs_period_us");
        if (share && period) keep_smaller_quota(quota, trimmed(*share), trimmed(*period));
    }
    return quota;
}

std::optional<std::uint64_t> cgroup_memory_limit_bytes(const std::string& root) {
    // Version 1 writes a number near 2^63 where there is no limit.
    constexpr std::uint64_t kNoLimit = 1ULL << 60;
    std::optional<std::uint64_t> limit;
    const auto consider = [&](const std::string& path) {
        const auto line = read_small_file(path);
        if (!line) return;
        const auto bytes = parse_integer<std::uint64_t>(trimmed(*line));
        if (bytes && *bytes < kNoLimit) keep_smaller(limit, *bytes);
    };
    for (const std::string& folder : cgroup_folders(root, "memory", true)) consider(folder + "/memory.max");
    for (const std::string& folder : cgroup_folders(root, "memory", false)) consider(folder + "/memory.limit_in_bytes");
    return limit;
}

std::uint64_t physical_memory_bytes(const std::string& root) { return meminfo_bytes(root, "MemTotal").value_or(0); }

std::optional<std::uint64_t> available_memory_bytes(const std::string& root) {
    return meminfo_bytes(root, "MemAvailable");
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view list) {
    std::vector<int> cpus;
    for (const std::string_view range : split(trimmed(list), ',')) {
        const std::size_t dash = range.find('-');
        const auto first = parse_integer<int>(range.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_integer<int>(range.substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first || *last >= kCpusMax) return std::nullopt;
        for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
        if (cpus.size() > kCpusMax) return std::nullopt;
    }
    return cpus;
}

std::optional<std::vector<int>> allowed_cpus() {
    // The kernel refuses a mask that is too short for the processors it may have.
    for (int bits = CPU_SETSIZE; bits <= kCpusMax; bits *= 2) {
        std::vector<cpu_set_t> mask(static_cast<std::size_t>(bits / CPU_SETSIZE));
        const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
        if (::sched_getaffinity(0, bytes, mask.data()) != 0) continue;
        std::vector<int> cpus;
        for (int cpu = 0; cpu < bits; ++cpu) {
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask.data())) cpus.push_back(cpu);
        }
        return cpus;
    }
    return std::nullopt;
}

std::vector<NumaNode> numa_nodes(const std::string& root, const std::optional<std::vector<int>>& allowed) {
    constexpr std::size_t kNodeIdsMax = 1024;  // what the kernel can be built for
    const std::string folder = root + "/sys/devices/system/node";
    const std::vector<NumaNode> one{{0, allowed.value_or(std::vector<int>{})}};
    const auto online = read_small_file(folder + "/online");
    const auto ids = online ? parse_cpu_list(*online) : std::nullopt;
    if (!ids || ids->size() > kNodeIdsMax) return one;
    std::vector<NumaNode> nodes;
    std::vector<bool> is_seen(kCpusMax);
    std::size_t cpu_count = 0;
    for (const int id : *ids) {
        const auto list = read_small_file(text(folder, "/node", id, "/cpulist"));
        if (!list) return one;
        if (trimmed(*list).empty()) continue;  // memory without processors
        const auto cpus = parse_cpu_list(*list);
        if (!cpus) return one;
        NumaNode node{id, {}};
        for (const int cpu : *cpus) {
            const auto index = static_cast<std::size_t>(cpu);
            if (is_seen[index]) return one;
            is_seen[index] = true;
            if (!allowed || std::binary_search(allowed->begin(), allowed->end(), cpu)) node.cpus.push_back(cpu);
        }
        std::sort(node.cpus.begin(), node.cpus.end());
        cpu_count += node.cpus.size();
        if (!node.cpus.empty()) nodes.push_back(std::move(node));
    }
    const bool is_whole = !nodes.empty() && (!allowed || cpu_count == allowed->size());
    return is_whole ? nodes : one;
}

int usable_cpu_count(const std::string& root) {
    int count = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) count = std::min(count, CPU_COUNT(&mask));
    const auto quota = cgroup_cpu_quota(root);
    if (quota && *quota < count) count = static_cast<int>(std::ceil(*quota));  // any larger one need not fit an int
    return std::max(count, 1);
}

}  // namespace mixtura
