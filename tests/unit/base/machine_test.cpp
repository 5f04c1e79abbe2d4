#include "base/machine.hpp"

#include <catch2/catch.hpp>

#include "support/files.hpp"

using namespace mixtura;

TEST_CASE("processor lists are read as the kernel writes them", "[base][short]") {
    CHECK(parse_cpu_list("0-3,8\n") == std::vector<int>{0, 1, 2, 3, 8});
    CHECK(parse_cpu_list("5") == std::vector<int>{5});
    for (const char* broken : {"", "a", "3-1", "0-", "-1", "0-99999999", "1,,2"}) CHECK_FALSE(parse_cpu_list(broken));
}

TEST_CASE("a cgroup version 2 quota is found, the tightest on the path counting", "[base][short]") {
    const test::TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/outer/inner\n");
    root.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    root.write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    root.write("sys/fs/cgroup/outer/memory.max", "1073741824\n");
    CHECK(cgroup_cpu_quota(root.path()) == 1.5);
    CHECK(cgroup_memory_limit_bytes(root.path()) == std::uint64_t{1} << 30);
    CHECK(usable_cpu_count(root.path()) <= 2);
}

TEST_CASE("a cgroup version 1 quota is found, -1 meaning none", "[base][short]") {
    const test::TemporaryFolder root;
    root.write("proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n");
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(cgroup_cpu_quota(root.path()) == 0.5);
    CHECK_FALSE(cgroup_memory_limit_bytes(root.path()));
    CHECK(usable_cpu_count(root.path()) == 1);
}

TEST_CASE("limits that are no sense are no limits", "[base][short]") {
    const test::TemporaryFolder empty;
    for (const char* quota : {"nan 100000", "inf 100000", "inf inf", "-5 100000", "0 100000", "100000 0", "100000",
                              "1 2 3", "99999999999999999999999 1e-300", "\xFF\xFF", "", " \n\t"}) {
        const test::TemporaryFolder root;
        root.write("proc/self/cgroup", "0::/job\n");
        root.write("sys/fs/cgroup/job/cpu.max", quota);
        root.write("sys/fs/cgroup/job/memory.max", "-1\n");
        root.write("proc/meminfo", "MemTotal:\nMemAvailable: 18446744073709551615 kB\n");
        INFO(quota);
        CHECK_FALSE(cgroup_cpu_quota(root.path()));
        CHECK(usable_cpu_count(root.path()) == usable_cpu_count(empty.path()));
        CHECK_FALSE(cgroup_memory_limit_bytes(root.path()));
        CHECK(physical_memory_bytes(root.path()) == 0);
        CHECK_FALSE(available_memory_bytes(root.path()));
    }
    const test::TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/job\n");
    root.write("sys/fs/cgroup/job/cpu.max", "1e300 1\n");
    CHECK(usable_cpu_count(root.path()) >= 1);
    std::string deep = "0::";
    for (int i = 0; i < 30'000; ++i) deep += "/a";
    root.write("proc/self/cgroup", deep);
    CHECK_FALSE(cgroup_cpu_quota(root.path()));
}

TEST_CASE("a machine that tells nothing still has one node and one processor", "[base][short]") {
    const test::TemporaryFolder root;
    CHECK_FALSE(cgroup_cpu_quota(root.path()));
    CHECK(physical_memory_bytes(root.path()) == 0);
    REQUIRE(numa_node_cpus(root.path()).size() == 1);
    CHECK_FALSE(numa_node_cpus(root.path())[0].empty());
    CHECK(usable_cpu_count(root.path()) >= 1);
}

TEST_CASE("two NUMA nodes are told apart", "[base][short]") {
    const test::TemporaryFolder root;
    root.write("sys/devices/system/node/online", "0-1\n");
    root.write("sys/devices/system/node/node0/cpulist", "0-1,4\n");
    root.write("sys/devices/system/node/node1/cpulist", "2-3\n");
    CHECK(numa_node_cpus(root.path()) == std::vector<std::vector<int>>{{0, 1, 4}, {2, 3}});
    root.write("proc/meminfo", "MemTotal:       24656900 kB\nMemFree: 1 kB\nMemAvailable:    7 kB\n");
    CHECK(physical_memory_bytes(root.path()) == 24656900ULL * 1024);
    CHECK(available_memory_bytes(root.path()) == 7U * 1024);
}

TEST_CASE("wider instruction sets imply the narrower ones", "[base][short]") {
    const CpuFeatures features = cpu_features();
    if (features.avx512_vnni) CHECK(features.avx512);
    if (features.avx512) CHECK(features.avx2);
}
