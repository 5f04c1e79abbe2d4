// The processor, what of it this build can use, and what of it this process may use.
#include <mixtura/build.hpp>

#include <cmath>

#include "base/number.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"
#include "doctor/checks.hpp"
#include "kernels/backend.hpp"

namespace mixtura {
namespace {

#if defined(__OPTIMIZE__)
constexpr bool kIsOptimised = true;
#else
constexpr bool kIsOptimised = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

template <class Wanted>
std::string names_of(const Wanted& is_wanted) {
    std::string names;
    for (const Backend& backend : backends()) {
        if (is_wanted(backend)) names += text(names.empty() ? "" : ", ", backend.name);
    }
    return names;
}

}  // namespace

HealthCheck check_build() {
    HealthCheck check{.name = "build"};
    check.found = build_text();  // a line a fact
    for (std::size_t at = check.found.find('\n'); at != std::string::npos; at = check.found.find('\n', at))
        check.found.replace(at, 1, ", ");
    if (!kIsOptimised || kIsSanitized) {
        check.verdict = HealthVerdict::warning;
        if (kIsSanitized) check.found += ", with sanitizers";
        check.remedy = "for speed build with -DCMAKE_BUILD_TYPE=Release and without MIXTURA_SANITIZE";
    }
    return check;
}

HealthCheck check_processor(const Surroundings& here) {
    HealthCheck check{.name = "processor"};
    const auto content = read_small_file(here.root + "/proc/cpuinfo");
    const auto model = content ? value_of(*content, "model name") : std::nullopt;
    check.found = model && !model->empty() ? quoted(*model) : "of no known name";
    if (backends().size() == 1) {
        check.verdict = HealthVerdict::warning;
        check.found += ", for which this build has scalar code only";
        check.remedy = "for speed use a build and a machine of a family with vector kernels, such as x86-64 with AVX2";
    }
    return check;
}

HealthCheck check_instruction_sets(const Surroundings& here) {
    HealthCheck check{.name = "instruction_sets"};
    const auto can_run = [&](const Backend& backend) { return is_granted(backend, here.features); };
    const std::string usable = names_of(can_run);
    const auto chosen = choose_backend(here.forced_isa, here.features);
    if (!chosen) {
        check.verdict = HealthVerdict::failure;
        check.found = text("MIXTURA_FORCE_ISA: ", chosen.status().message());
        check.remedy = text("unset MIXTURA_FORCE_ISA, or set it to one of ", usable);
        return check;
    }
    check.found = text((*chosen)->name, " is used, of ", usable);
    const std::string missing = names_of([&](const Backend& backend) { return !can_run(backend); });
    if (!missing.empty()) check.found += text("; built in but not here: ", missing);
    const auto widest = choose_backend(std::nullopt, here.features);
    if (here.forced_isa) {
        check.verdict = HealthVerdict::note;
        check.found += ", as MIXTURA_FORCE_ISA says";
        check.remedy = "unset MIXTURA_FORCE_ISA for the widest";
    } else if (*widest == &backends()[0] && backends().size() > 1) {
        check.verdict = HealthVerdict::warning;
        check.remedy = text("for speed use a processor with ", backends()[1].required_isa,
                            "; a virtual machine may have to pass it through (qemu: -cpu host)");
    }
    return check;
}

HealthCheck check_threads(const Surroundings& here) {
    HealthCheck check{.name = "threads"};
    const int usable = usable_cpu_count(here.root);
    check.found =
        text(usable, " by default, of ", here.online_cpus, here.online_cpus == 1 ? " processor" : " processors");
    if (here.affinity_cpus < here.online_cpus) {
        check.verdict = HealthVerdict::note;
        check.found += text(", of which this process may use ", here.affinity_cpus);
        check.remedy = "start it without taskset (a container: without --cpuset-cpus) to use them all";
    }
    const auto quota = cgroup_cpu_quota(here.root);
    if (!quota) return check;
    check.found += text(", a cgroup quota of ", format_fixed(*quota, 2));
    if (*quota >= here.affinity_cpus) return check;
    // Rounded up: a thread too many costs less than a processor too few.  But the kernel stops them all once a period's
    // share is used up.
    const bool is_whole = *quota == std::floor(*quota);
    check.verdict = is_whole ? HealthVerdict::note : HealthVerdict::warning;
    check.remedy = is_whole
                       ? "raise cpu.max (docker: --cpus) to use more processors"
                       : "give whole processors in cpu.max (docker: --cpus), for beyond the quota the kernel stops "
                         "every thread until the next period";
    return check;
}

HealthCheck check_numa(const Surroundings& here) {
    HealthCheck check{.name = "numa"};
    const std::size_t nodes = numa_nodes(here.root, std::nullopt).size();
    check.found = text(nodes, nodes == 1 ? " node" : " nodes");
    if (nodes > 1) {
        check.verdict = HealthVerdict::note;
        check.remedy =
            "weights and threads are spread over them; a container must allow mbind, or nodes read each other's memory";
    }
    return check;
}

}  // namespace mixtura
