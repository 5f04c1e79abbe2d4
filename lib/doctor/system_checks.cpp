// Kernel, C library, clock, io_uring, and the back-ends that this version has none of.
#include <errno.h>

#include <algorithm>
#include <compare>

#include "base/number.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"
#include "doctor/checks.hpp"
#include "memory/system_error.hpp"

namespace mixtura {
namespace {

// "2.36" as {2, 36}; what follows the second number does not count.
struct Version {
    int major = 0, minor = 0;
    auto operator<=>(const Version&) const = default;
};
std::optional<Version> version_of(std::string_view words) {
    const auto number = [&words]() -> std::optional<int> {
        const std::size_t digits = std::min(words.find_first_not_of("0123456789"), words.size());
        const auto value = parse_integer<int>(words.substr(0, digits));
        words.remove_prefix(digits);
        return value;
    };
    const auto major = number();
    if (!major || words.empty() || words[0] != '.') return std::nullopt;
    words.remove_prefix(1);
    const auto minor = number();
    if (!minor) return std::nullopt;
    return Version{*major, *minor};
}

HealthCheck not_built_in(std::string_view name, std::string_view remedy) {
    return {.name = std::string(name),
            .verdict = HealthVerdict::note,
            .found = "not built in",
            .remedy = std::string(remedy)};
}

}  // namespace

HealthCheck check_kernel(const Surroundings& here) {
    HealthCheck check{.name = "kernel"};
    check.verdict = here.kernel_release.empty() ? HealthVerdict::note : HealthVerdict::ok;
    check.found = here.kernel_release.empty() ? "of no known release" : "Linux " + quoted(here.kernel_release);
    return check;
}

HealthCheck check_c_library(const Surroundings& here) {
    HealthCheck check{.name = "c_library"};
    if (here.libc_built.empty()) {
        check.verdict = HealthVerdict::note;
        check.found = "not glibc";
        check.remedy = "the tests run with glibc only: expect less";
        return check;
    }
    check.found = text("glibc ", quoted(here.libc_here), ", built with ", here.libc_built);
    const auto version = version_of(here.libc_here), built = version_of(here.libc_built);
    if (!version || !built || *version < *built) {
        check.verdict = HealthVerdict::warning;
        check.remedy = text("build on this system, or update it to glibc ", here.libc_built, " or later");
    }
    return check;
}

HealthCheck check_clock(const Surroundings& here) {
    HealthCheck check{.name = "clock"};
    const auto content =
        read_small_file(here.root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const std::string_view source = content ? trimmed(*content) : std::string_view();
    check.found = text(source.empty() ? std::string("of no known source") : quoted(source), ", steps of ",
                       here.clock_step_ns, " ns");
    // These are read by a system call into a device, a microsecond or more each time; the others from user space.
    if (source == "hpet" || source == "acpi_pm" || source == "jiffies") {
        check.verdict = HealthVerdict::warning;
        check.remedy = "times that are measured cost time: boot with tsc=reliable if the processor's counter is sound";
    } else if (here.clock_step_ns == 0 || here.clock_step_ns > 1'000'000) {
        check.verdict = HealthVerdict::warning;
        check.remedy = "times below a millisecond mean nothing here: use a kernel with high-resolution timers";
    }
    return check;
}

HealthCheck check_io_uring(const Surroundings& here) {
    HealthCheck check{.name = "io_uring"};
    if (here.io_uring_errno == 0) {
        check.found = "works; this version reads files by threads without it";
        return check;
    }
    check.verdict = HealthVerdict::note;
    const auto content = read_small_file(here.root + "/proc/sys/kernel/io_uring_disabled");
    const std::string_view setting = content ? trimmed(*content) : std::string_view();
    if (!here.io_uring_errno) {
        check.found = "not tried: a seccomp filter may be in force";
        check.remedy = "this version reads files by threads and needs none; mixtura doctor tries it";
    } else if (here.io_uring_errno == ENOSYS) {
        check.found = "this kernel has none";
        check.remedy = "this version reads files by threads and needs none; Linux 5.1 and later have it";
    } else if (here.io_uring_errno == EPERM && (setting == "1" || setting == "2")) {
        check.found = text("kernel.io_uring_disabled is ", setting);
        check.remedy = "this version reads files by threads and needs none; as root: sysctl kernel.io_uring_disabled=0";
    } else if (here.io_uring_errno == EPERM || here.io_uring_errno == EACCES) {
        check.found = "refused, as by a seccomp profile";
        check.remedy =
            "this version reads files by threads and needs none; a container's profile may allow io_uring_setup";
    } else {
        check.found = text("io_uring_setup says: ", system_error_text(*here.io_uring_errno));
        check.remedy = "this version reads files by threads and needs none";
    }
    return check;
}

HealthCheck check_cuda(const Surroundings& here) {
    HealthCheck check = not_built_in("cuda", "this version computes on the processor alone");
    if (read_small_file(here.root + "/proc/driver/nvidia/version")) check.found += ", though an NVIDIA driver is here";
    return check;
}

HealthCheck check_nccl() { return not_built_in("nccl", "this version uses no second device"); }
HealthCheck check_mpi() { return not_built_in("mpi", "this version uses one machine"); }

}  // namespace mixtura
