#include "doctor/surroundings.hpp"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/env.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"

namespace mixtura {
namespace {

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) what) noexcept {
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

// The kernel's struct io_uring_params has 120 bytes, of which a caller may leave all zero.  A ring of one entry takes
// some pages, which close() gives back.  Not by liburing: a question is no reason to need a library.
int try_io_uring() noexcept {
#if defined(SYS_io_uring_setup)
    alignas(8) unsigned char parameters[120] = {};
    const long descriptor = ::syscall(SYS_io_uring_setup, 1U, parameters);
    if (descriptor < 0) return errno;
    ::close(static_cast<int>(descriptor));
    return 0;
#else
    return ENOSYS;
#endif
}

}  // namespace

bool may_be_filtered(const std::string& root) {
    const auto content = read_small_file(root + "/proc/self/status");
    return !content || value_of(*content, "Seccomp") != "0";
}

Surroundings look_around(bool tries_filtered_calls) {
    Surroundings here;
    here.features = cpu_features();
    if (const auto forced = env_value(EnvVariable::force_isa)) here.forced_isa = std::string(*forced);

    here.online_cpus = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    here.affinity_cpus = here.online_cpus;
    cpu_set_t mask;  // has room for 1024; a machine with more refuses, and none of ours is bound to a few there
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) here.affinity_cpus = CPU_COUNT(&mask);

    here.address_space_max = limit_of(RLIMIT_AS);
    here.data_max = limit_of(RLIMIT_DATA);
    here.locked_max = limit_of(RLIMIT_MEMLOCK);

    utsname name{};
    if (::uname(&name) == 0) here.kernel_release = name.release;
#if defined(__GLIBC__)
    here.libc_built = text(__GLIBC__, '.', __GLIBC_MINOR__);
    here.libc_here = ::gnu_get_libc_version();
#endif
    here.io_uring_errno.reset();
    if (tries_filtered_calls || !may_be_filtered(here.root)) here.io_uring_errno = try_io_uring();
    timespec step{};
    if (::clock_getres(CLOCK_MONOTONIC, &step) == 0)
        here.clock_step_ns =
            static_cast<std::uint64_t>(step.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(step.tv_nsec);
    return here;
}

}  // namespace mixtura
