#include "base/machine.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <numeric>

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
    CHECK(numa_nodes(root.path(), std::vector{0, 3}) == std::vector<NumaNode>{{0, {0, 3}}});
    CHECK(usable_cpu_count(root.path()) >= 1);
}

TEST_CASE("the total of memory is read", "[base][short]") {
    const test::TemporaryFolder root;
    root.write("proc/meminfo", "MemTotal:       24656900 kB\nMemFree: 1 kB\nMemAvailable:    7 kB\n");
    CHECK(physical_memory_bytes(root.path()) == 24656900ULL * 1024);
    CHECK(available_memory_bytes(root.path()) == 7U * 1024);
}

namespace {

constexpr const char* kNodes = "sys/devices/system/node/";

std::vector<int> cpus_below(int end) {
    std::vector<int> cpus(static_cast<std::size_t>(end));
    std::iota(cpus.begin(), cpus.end(), 0);
    return cpus;
}

// A machine whose nodes are `ids`, as /sys/devices/system/node/online says it, with these lists of processors.
std::vector<NumaNode> nodes_of(const std::string& ids, const std::map<std::string, std::string>& lists,
                               const std::optional<std::vector<int>>& allowed) {
    const test::TemporaryFolder root;
    root.write(std::string(kNodes) + "online", ids);
    for (const auto& [id, list] : lists) root.write(kNodes + ("node" + id) + "/cpulist", list);
    return numa_nodes(root.path(), allowed);
}

}  // namespace

TEST_CASE("NUMA nodes are told apart, those without processors left out", "[base][short]") {
    CHECK(nodes_of("0-1\n", {{"0", "0-1,4\n"}, {"1", "2-3\n"}}, cpus_below(5)) ==
          std::vector<NumaNode>{{0, {0, 1, 4}}, {1, {2, 3}}});
    CHECK(nodes_of("0,2-3\n", {{"0", "0\n"}, {"2", "\n"}, {"3", "1-2\n"}}, cpus_below(3)) ==
          std::vector<NumaNode>{{0, {0}}, {3, {1, 2}}});
    CHECK(nodes_of("0-1", {{"0", "0-1"}, {"1", "2-3"}}, std::nullopt) ==
          std::vector<NumaNode>{{0, {0, 1}}, {1, {2, 3}}});
}

TEST_CASE("of a node count the processors that this process may use", "[base][short]") {
    const std::map<std::string, std::string> lists{{"0", "0-3\n"}, {"1", "4-7\n"}};
    CHECK(nodes_of("0-1\n", lists, std::vector{1, 4, 5}) == std::vector<NumaNode>{{0, {1}}, {1, {4, 5}}});
    CHECK(nodes_of("0-1\n", lists, std::vector{5, 6}) == std::vector<NumaNode>{{1, {5, 6}}});
}

TEST_CASE("nodes that cannot be are one node", "[base][short]") {
    const std::vector<NumaNode> one{{0, {0, 1, 2, 3}}};
    const std::string good = "2-3\n";
    for (const char* list : {"0-1,x\n", "1-0\n", "0-99999999\n", "-1\n", "0,1,2\n", "0,0,1\n", "0\n"}) {
        INFO(list);
        CHECK(nodes_of("0-1\n", {{"0", list}, {"1", good}}, cpus_below(4)) == one);
    }
    CHECK(nodes_of("0-1\n", {{"1", good}}, cpus_below(4)) == one);
    for (const char* ids : {"", "two\n", "0-65535\n", "1-0\n", "0-1,0\n"}) {
        INFO(ids);
        CHECK(nodes_of(ids, {{"0", "0-1\n"}, {"1", good}}, cpus_below(4)) == one);
    }
    CHECK(nodes_of("0-1\n", {{"0", std::string(100'000, '1')}, {"1", good}}, cpus_below(4)) == one);
}

TEST_CASE("this process may run somewhere", "[base][short]") {
    const auto allowed = allowed_cpus();
    REQUIRE(allowed);
    CHECK(static_cast<int>(allowed->size()) >= usable_cpu_count());
    std::size_t cpus = 0;
    for (const NumaNode& node : numa_nodes()) cpus += node.cpus.size();
    CHECK(cpus == allowed->size());
}

TEST_CASE("wider instruction sets imply the narrower ones", "[base][short]") {
    const CpuFeatures features = cpu_features();
    if (features.avx512_vnni) CHECK(features.avx512);
    if (features.avx512) CHECK(features.avx2);
}
