// Memory: how much there is, what limits this process, and in what pages it comes.
#include <algorithm>

#include "base/number.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"
#include "doctor/checks.hpp"

namespace mixtura {
namespace {

// Below this nothing that talks fits beside its cache.
constexpr std::uint64_t kAvailableLeast = std::uint64_t{1} << 30;
// A buffer for transfers to a device, or for reads the kernel writes into on its own, wants about this much locked.
constexpr std::uint64_t kLockedEnough = std::uint64_t{64} << 20;

}  // namespace

std::string readable_bytes(std::uint64_t bytes) {
    const double megabytes = static_cast<double>(bytes) / 1e6;
    if (megabytes < 100) return format_fixed(megabytes, 1) + " MB";
    const double gigabytes = megabytes / 1e3;
    return format_fixed(gigabytes, gigabytes < 10 ? 2 : 1) + " GB";
}

HealthCheck check_memory(const Surroundings& here) {
    HealthCheck check{.name = "memory"};
    const std::uint64_t physical = physical_memory_bytes(here.root);
    const auto available = available_memory_bytes(here.root);
    if (physical == 0) {
        check.verdict = HealthVerdict::note;
        check.found = "/proc/meminfo does not say how much there is";
        check.remedy = "mount /proc, so that defaults can follow the memory there is";
        return check;
    }
    check.found = readable_bytes(physical);
    if (!available) return check;
    check.found += text(", ", readable_bytes(*available), " of it available");
    if (*available < kAvailableLeast) {
        check.verdict = HealthVerdict::warning;
        check.remedy = "end what else takes memory, or use a smaller model or a narrower weight format";
    }
    return check;
}

HealthCheck check_memory_limits(const Surroundings& here) {
    HealthCheck check{.name = "memory_limits"};
    const std::uint64_t physical = physical_memory_bytes(here.root);
    const auto add = [&](std::string_view what, std::optional<std::uint64_t> limit, std::string_view remedy) {
        if (!limit) return;
        check.found += text(check.found.empty() ? "" : ", ", what, ' ', readable_bytes(*limit));
        if (physical > 0 && *limit >= physical) return;  // never the limit that is met first
        check.verdict =
            *limit < kAvailableLeast ? HealthVerdict::warning : std::max(check.verdict, HealthVerdict::note);
        check.remedy += text(check.remedy.empty() ? "" : "; ", remedy);
    };
    add("cgroup", cgroup_memory_limit_bytes(here.root), "raise memory.max (docker: --memory) for larger models");
    add("address space (ulimit -v)", here.address_space_max,
        "ulimit -v unlimited: addresses are reserved ahead of the memory behind them");
    add("data (ulimit -d)", here.data_max, "ulimit -d unlimited");
    if (check.found.empty()) check.found = "none";
    return check;
}

HealthCheck check_locked_memory(const Surroundings& here) {
    HealthCheck check{.name = "locked_memory"};
    check.found =
        here.locked_max ? text(readable_bytes(*here.locked_max), " may be locked") : "any amount may be locked";
    if (here.locked_max && *here.locked_max < kLockedEnough) {
        check.verdict = HealthVerdict::note;
        check.found += "; this version locks none";
        check.remedy =
            "where a device's driver wants locked memory: ulimit -l unlimited (systemd: LimitMEMLOCK=infinity)";
    }
    return check;
}

HealthCheck check_huge_pages(const Surroundings& here) {
    HealthCheck check{.name = "huge_pages"};
    const auto content = read_small_file(here.root + "/sys/kernel/mm/transparent_hugepage/enabled");
    // The one in force is in brackets: "always [madvise] never".
    const std::string_view modes = content ? trimmed(*content) : std::string_view();
    const std::size_t open = modes.find('['), close = modes.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) {
        check.verdict = HealthVerdict::note;
        check.found = "this kernel does not say whether it has transparent huge pages";
        return check;
    }
    const std::string_view mode = modes.substr(open + 1, close - open - 1);
    check.found = mode == "always" || mode == "madvise" || mode == "never" ? std::string(mode) : quoted(mode);
    if (mode == "never") {
        check.verdict = HealthVerdict::warning;
        check.remedy =
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (weights read once a token "
            "miss the TLB on every 4 KiB otherwise)";
    }
    return check;
}

}  // namespace mixtura
