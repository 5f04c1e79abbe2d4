#include <errno.h>

#include <catch2/catch.hpp>

#include "doctor/checks.hpp"
#include "support/files.hpp"

using namespace mixtura;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Surroundings at(const test::TemporaryFolder& root) {
    Surroundings here;
    here.root = root.path();
    return here;
}

}  // namespace

TEST_CASE("what is here is found out without a failure", "[doctor][short]") {
    const Surroundings here = look_around(false);
    CHECK(here.online_cpus >= 1);
    CHECK(here.affinity_cpus >= 1);
    CHECK(here.affinity_cpus <= here.online_cpus);
    CHECK_FALSE(here.kernel_release.empty());
    CHECK(here.clock_step_ns > 0);
#if defined(__GLIBC__)
    CHECK(check_c_library(here).verdict == HealthVerdict::ok);
#endif
}

TEST_CASE("the kernel's release is shown, whatever it says", "[doctor][short]") {
    Surroundings here;
    CHECK(check_kernel(here).verdict == HealthVerdict::note);
    here.kernel_release = "6.1.0-18-amd64\n";
    CHECK(check_kernel(here).found == "Linux '6.1.0-18-amd64\\x0a'");
    CHECK(check_kernel(here).verdict == HealthVerdict::ok);
}

TEST_CASE("a C library older than the build's is a warning", "[doctor][short]") {
    Surroundings here;
    CHECK(check_c_library(here).verdict == HealthVerdict::note);
    here.libc_built = "2.36";
    for (const char* good : {"2.36", "2.40", "3.0", "2.36.9000"}) {
        here.libc_here = good;
        CHECK(check_c_library(here).verdict == HealthVerdict::ok);
    }
    for (const char* bad : {"2.35", "1.99", "2.4", "", "2", "2.", ".36", "x.y", "99999999999.1"}) {
        here.libc_here = bad;
        INFO(bad);
        CHECK(check_c_library(here).verdict == HealthVerdict::warning);
        CHECK(has(check_c_library(here).remedy, "2.36"));
    }
}

TEST_CASE("clocks that are slow to read, or coarse, are a warning", "[doctor][short]") {
    const test::TemporaryFolder root;
    const std::string path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    Surroundings here = at(root);
    here.clock_step_ns = 1;
    CHECK(check_clock(here).verdict == HealthVerdict::ok);
    root.write(path, "tsc\n");
    CHECK(check_clock(here).found == "'tsc', steps of 1 ns");
    root.write(path, "hpet\n");
    CHECK(check_clock(here).verdict == HealthVerdict::warning);
    root.write(path, "tsc\n");
    here.clock_step_ns = 4'000'000;
    CHECK(check_clock(here).verdict == HealthVerdict::warning);
}

TEST_CASE("why there is no io_uring is told apart", "[doctor][short]") {
    const test::TemporaryFolder root;
    Surroundings here = at(root);
    CHECK(check_io_uring(here).verdict == HealthVerdict::ok);
    here.io_uring_errno.reset();
    CHECK(has(check_io_uring(here).found, "not tried"));
    here.io_uring_errno = ENOSYS;
    CHECK(has(check_io_uring(here).remedy, "5.1"));
    here.io_uring_errno = EPERM;
    CHECK(has(check_io_uring(here).found, "seccomp"));
    root.write("proc/sys/kernel/io_uring_disabled", "2\n");
    CHECK(check_io_uring(here).found == "kernel.io_uring_disabled is 2");
    CHECK(has(check_io_uring(here).remedy, "sysctl"));
    root.write("proc/sys/kernel/io_uring_disabled", "\x1b[2J");
    CHECK(has(check_io_uring(here).found, "seccomp"));
    here.io_uring_errno = ENOMEM;
    CHECK(has(check_io_uring(here).found, "memory"));
    CHECK(check_io_uring(here).verdict == HealthVerdict::note);
}

TEST_CASE("a call that a filter may punish is not tried unasked", "[doctor][short]") {
    const test::TemporaryFolder root;
    CHECK(may_be_filtered(root.path()));  // who knows
    for (const char* filtered :
         {"Name: x\nSeccomp:\t2\nSeccomp_filters:\t0\n", "Seccomp:\t1\n", "Seccomp:\n", "\xFF"}) {
        root.write("proc/self/status", filtered);
        CHECK(may_be_filtered(root.path()));
    }
    root.write("proc/self/status", "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n");
    CHECK_FALSE(may_be_filtered(root.path()));
    CHECK(look_around(true).io_uring_errno.has_value());
}

TEST_CASE("what is not built in is a note, and a driver that lies idle is mentioned", "[doctor][short]") {
    const test::TemporaryFolder root;
    CHECK(check_cuda(at(root)).found == "not built in");
    root.write("proc/driver/nvidia/version", "NVRM version: 1\n");
    CHECK(check_cuda(at(root)).found == "not built in, though an NVIDIA driver is here");
    CHECK(check_cuda(at(root)).verdict == HealthVerdict::note);
    CHECK(check_nccl().verdict == HealthVerdict::note);
    CHECK(check_mpi().verdict == HealthVerdict::note);
}
