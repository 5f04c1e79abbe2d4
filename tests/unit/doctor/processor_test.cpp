#include <catch2/catch.hpp>

#include "doctor/checks.hpp"
#include "kernels/backend.hpp"
#include "support/files.hpp"

using namespace mixtura;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Surroundings at(const test::TemporaryFolder& root) {
    Surroundings here;
    here.root = root.path();
    here.online_cpus = here.affinity_cpus = 8;
    return here;
}

}  // namespace

TEST_CASE("the processor is told by the name the kernel gives it, made safe to show", "[doctor][short]") {
    const test::TemporaryFolder root;
    root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some(R) Core\x1b[31m \xFF 9\nflags: a\n");
    CHECK(has(check_processor(at(root)).found, "'Some(R) Core\\x1b[31m \\xff 9'"));
    root.write("proc/cpuinfo", "processor: 0");
    CHECK_FALSE(has(check_processor(at(root)).found, "'"));
    const test::TemporaryFolder empty;
    CHECK(has(check_processor(at(empty)).found, "of no known name"));
}

TEST_CASE("the widest instruction set is used, and what is missing is said", "[doctor][short]") {
    Surroundings here;
    here.features = CpuFeatures{};
    const HealthCheck bare = check_instruction_sets(here);
#if defined(__aarch64__)
    CHECK(bare.verdict == HealthVerdict::ok);
    CHECK(bare.found == "neon is used, of ref, neon; built in but not here: neon_dotprod");
#else
    CHECK(has(bare.found, "ref is used, of ref"));
    if (backends().size() > 1) {
        CHECK(bare.verdict == HealthVerdict::warning);
        CHECK(has(bare.found, std::string(backends()[1].name)));
        CHECK(has(bare.remedy, std::string(backends()[1].required_isa)));
    }
#endif
#if defined(__x86_64__)
    here.features.avx2 = here.features.avx512 = here.features.avx512_vnni = true;
    const HealthCheck check = check_instruction_sets(here);
    CHECK(check.verdict == HealthVerdict::ok);
    CHECK(check.found ==
          "avx512_vnni is used, of ref, avx2, avx512, avx512_vnni; built in but not here: avx_vnni, amx_int8");
    CHECK(check.remedy.empty());
    here.features.amx_tile = here.features.amx_int8 = true;
    CHECK(has(check_instruction_sets(here).found, "avx512_vnni is used, of ref, avx2, avx512, avx512_vnni, amx_int8;"));
#endif
}

TEST_CASE("an instruction set that is forced is said, one that cannot be is a failure", "[doctor][short]") {
    Surroundings here;
    here.forced_isa = "ref";
    const HealthCheck forced = check_instruction_sets(here);
    CHECK(forced.verdict == HealthVerdict::note);
    CHECK(has(forced.found, "ref is used, "));
    CHECK(has(forced.remedy, "unset MIXTURA_FORCE_ISA"));
    here.forced_isa = "sse9\n";
    const HealthCheck unknown = check_instruction_sets(here);
    CHECK(unknown.verdict == HealthVerdict::failure);
    CHECK(has(unknown.found, "'sse9\\x0a' is unknown"));
    CHECK(has(unknown.remedy, "one of ref"));
    if (backends().size() == 1) return;
    here.forced_isa = std::string(backends().back().name);
    const HealthCheck above = check_instruction_sets(here);
    CHECK(above.verdict == HealthVerdict::failure);
    CHECK(has(above.found, "which this machine lacks"));
}

TEST_CASE("threads follow the affinity and the cgroup's quota, of version 1 or 2, however deep", "[doctor][short]") {
    const test::TemporaryFolder free;
    CHECK(check_threads(at(free)).verdict == HealthVerdict::ok);
    CHECK(has(check_threads(at(free)).found, " by default, of 8 processors"));

    Surroundings bound = at(free);
    bound.affinity_cpus = 3;
    CHECK(check_threads(bound).verdict == HealthVerdict::note);
    CHECK(has(check_threads(bound).found, "of 8 processors, of which this process may use 3"));
    CHECK(has(check_threads(bound).remedy, "taskset"));

    const test::TemporaryFolder version2;
    version2.write("proc/self/cgroup", "0::/kube/pod/box\n");
    version2.write("sys/fs/cgroup/kube/pod/box/cpu.max", "max 100000\n");
    version2.write("sys/fs/cgroup/kube/pod/cpu.max", "100000 100000\n");
    CHECK(check_threads(at(version2)).verdict == HealthVerdict::note);
    CHECK(check_threads(at(version2)).found == "1 by default, of 8 processors, a cgroup quota of 1.00");
    CHECK(has(check_threads(at(version2)).remedy, "raise cpu.max"));

    const test::TemporaryFolder version1;
    version1.write("proc/self/cgroup", "3:cpu,cpuacct:/job/a:b\n");
    version1.write("sys/fs/cgroup/cpu/job/a:b/cpu.cfs_quota_us", "50000\n");
    version1.write("sys/fs/cgroup/cpu/job/a:b/cpu.cfs_period_us", "100000\n");
    CHECK(check_threads(at(version1)).verdict == HealthVerdict::warning);
    CHECK(check_threads(at(version1)).found == "1 by default, of 8 processors, a cgroup quota of 0.50");
    CHECK(has(check_threads(at(version1)).remedy, "whole processors"));

    const test::TemporaryFolder wide;
    wide.write("proc/self/cgroup", "0::/\n");
    wide.write("sys/fs/cgroup/cpu.max", "6400000 100000\n");
    CHECK(check_threads(at(wide)).verdict == HealthVerdict::ok);

    const test::TemporaryFolder garbage;
    garbage.write("proc/self/cgroup", std::string("0::/\0\xFF:::\n:\n", 13));
    garbage.write("sys/fs/cgroup/cpu.max", "nan inf\n");
    CHECK(check_threads(at(garbage)).verdict == HealthVerdict::ok);
}

TEST_CASE("NUMA nodes are counted", "[doctor][short]") {
    const test::TemporaryFolder root;
    CHECK(check_numa(at(root)).found == "1 node");
    CHECK(check_numa(at(root)).verdict == HealthVerdict::ok);
    root.write("sys/devices/system/node/online", "0-1\n");
    root.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    root.write("sys/devices/system/node/node1/cpulist", "4-7\n");
    CHECK(check_numa(at(root)).found == "2 nodes");
    CHECK(check_numa(at(root)).verdict == HealthVerdict::note);
    root.write("sys/devices/system/node/online", "0-99999999,x\n");
    CHECK(check_numa(at(root)).found == "1 node");
}

TEST_CASE("the build says its version, family and compiler", "[doctor][short]") {
    const HealthCheck check = check_build();
    CHECK(check.found.find("version ") == 0);
    CHECK(has(check.found, ", compiler "));
    CHECK_FALSE(has(check.found, "\n"));
    CHECK((check.verdict == HealthVerdict::warning) == !check.remedy.empty());
}
