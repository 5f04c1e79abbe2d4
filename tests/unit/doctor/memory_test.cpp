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

constexpr const char* kSixteen = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   12000000 kB\n";

}  // namespace

TEST_CASE("memory is what the kernel says, little of it available is a warning", "[doctor][short]") {
    const test::TemporaryFolder root;
    CHECK(check_memory(at(root)).verdict == HealthVerdict::note);
    CHECK(has(check_memory(at(root)).remedy, "/proc"));
    root.write("proc/meminfo", kSixteen);
    CHECK(check_memory(at(root)).verdict == HealthVerdict::ok);
    CHECK(check_memory(at(root)).found == "16.4 GB, 12.3 GB of it available");
    root.write("proc/meminfo", "MemTotal: 16000000 kB\n");
    CHECK(check_memory(at(root)).found == "16.4 GB");
    root.write("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 500000 kB\n");
    CHECK(check_memory(at(root)).verdict == HealthVerdict::warning);
    for (const char* garbage : {"MemTotal: 99999999999999999999 kB\n", "MemTotal: -1 kB", "MemTotal", ":::", "\xFF"}) {
        root.write("proc/meminfo", garbage);
        CHECK(check_memory(at(root)).verdict == HealthVerdict::note);
    }
}

TEST_CASE("limits of memory come from cgroups of both versions, however deep, and from the process",
          "[doctor][short]") {
    const test::TemporaryFolder root;
    root.write("proc/meminfo", kSixteen);
    CHECK(check_memory_limits(at(root)).found == "none");
    CHECK(check_memory_limits(at(root)).verdict == HealthVerdict::ok);

    root.write("proc/self/cgroup", "0::/outer/inner\n");
    root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    root.write("sys/fs/cgroup/outer/memory.max", "8589934592\n");
    CHECK(check_memory_limits(at(root)).found == "cgroup 8.59 GB");
    CHECK(check_memory_limits(at(root)).verdict == HealthVerdict::note);
    CHECK(has(check_memory_limits(at(root)).remedy, "memory.max"));

    root.write("proc/self/cgroup", "4:memory:/job\n0::/outer/inner\n");
    root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
    CHECK(check_memory_limits(at(root)).found == "cgroup 0.54 GB");
    CHECK(check_memory_limits(at(root)).verdict == HealthVerdict::warning);

    const test::TemporaryFolder bare;
    bare.write("proc/meminfo", kSixteen);
    bare.write("proc/self/cgroup", "0::/outer/inner\n");
    bare.write("sys/fs/cgroup/outer/memory.max", "-7\n");
    Surroundings here = at(bare);
    here.address_space_max = std::uint64_t{4} << 30;
    here.data_max = std::uint64_t{1} << 40;  // more than there is
    CHECK(check_memory_limits(here).found == "address space (ulimit -v) 4.29 GB, data (ulimit -d) 1099.5 GB");
    CHECK(check_memory_limits(here).verdict == HealthVerdict::note);
    CHECK(has(check_memory_limits(here).remedy, "ulimit -v unlimited"));
    CHECK_FALSE(has(check_memory_limits(here).remedy, "ulimit -d"));
}

TEST_CASE("little memory that may be locked is worth a note", "[doctor][short]") {
    Surroundings here;
    CHECK(check_locked_memory(here).verdict == HealthVerdict::ok);
    here.locked_max = std::uint64_t{64} << 10;
    CHECK(check_locked_memory(here).verdict == HealthVerdict::note);
    CHECK(check_locked_memory(here).found == "0.1 MB may be locked; this version locks none");
    CHECK(has(check_locked_memory(here).remedy, "ulimit -l"));
    here.locked_max = std::uint64_t{1} << 30;
    CHECK(check_locked_memory(here).verdict == HealthVerdict::ok);
}

TEST_CASE("huge pages are read from the brackets", "[doctor][short]") {
    const test::TemporaryFolder root;
    const std::string path = "sys/kernel/mm/transparent_hugepage/enabled";
    CHECK(check_huge_pages(at(root)).verdict == HealthVerdict::note);
    root.write(path, "always [madvise] never\n");
    CHECK(check_huge_pages(at(root)).found == "madvise");
    CHECK(check_huge_pages(at(root)).verdict == HealthVerdict::ok);
    root.write(path, "[always] madvise never\n");
    CHECK(check_huge_pages(at(root)).verdict == HealthVerdict::ok);
    root.write(path, "always madvise [never]\n");
    CHECK(check_huge_pages(at(root)).verdict == HealthVerdict::warning);
    CHECK(has(check_huge_pages(at(root)).remedy, "echo madvise"));
    for (const char* garbage : {"", "]always[", "[always", "always]", "][ x"}) {
        root.write(path, garbage);
        CHECK(check_huge_pages(at(root)).verdict == HealthVerdict::note);
    }
    root.write(path, "[\x1b]0;]");
    CHECK(check_huge_pages(at(root)).found == "'\\x1b'");
}
