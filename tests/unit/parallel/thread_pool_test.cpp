#include "parallel/thread_pool.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/machine.hpp"

using namespace mixtura;

namespace {

std::unique_ptr<ThreadPool> pool_of(int thread_count) {
    auto pool = ThreadPool::create(thread_count);
    REQUIRE(pool);
    return *std::move(pool);
}

}  // namespace

TEST_CASE("every index runs once, under a worker number that no other task has at that time", "[parallel][short]") {
    for (const int threads : {1, 2, 3, 8}) {
        const auto pool = pool_of(threads);
        CHECK(pool->thread_count() == threads);
        for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
            std::vector<std::atomic<int>> users(static_cast<std::size_t>(threads));
            std::atomic<bool> clean{true};
            parallel_for(*pool, count, [&](std::int64_t index, int worker) noexcept {
                if (worker < 0 || worker >= threads || users[static_cast<std::size_t>(worker)].fetch_add(1) != 0)
                    clean = false;
                runs[static_cast<std::size_t>(index)].fetch_add(1);
                users[static_cast<std::size_t>(worker)].fetch_sub(1);
            });
            CHECK(clean);
            CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }));
        }
    }
}

TEST_CASE("what the tasks wrote is there when run returns", "[parallel][short]") {
    const auto pool = pool_of(3);
    std::vector<int> values(64);  // plain memory: the thread sanitizer watches
    for (int round = 0; round < 2000; ++round) {
        parallel_for(*pool, 64, [&](std::int64_t i, int) noexcept {
            values[static_cast<std::size_t>(i)] += static_cast<int>(i) + round;
        });
    }
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == 2000 * static_cast<int>(i) + 2000 * 1999 / 2);
}

TEST_CASE("indices are claimed in ascending order", "[parallel][short]") {
    const auto pool = pool_of(2);
    std::vector<std::vector<std::int64_t>> seen(2);
    parallel_for(*pool, 500, [&](std::int64_t index, int worker) noexcept {
        seen[static_cast<std::size_t>(worker)].push_back(index);
    });
    for (const auto& indices : seen) CHECK(std::is_sorted(indices.begin(), indices.end()));
}

namespace {

// Nodes with so many processors each, numbered through from `first` on.
Topology nodes_with(const std::vector<int>& cpu_counts, int first) {
    std::vector<NumaNode> nodes;
    for (const int count : cpu_counts) {
        NumaNode node{static_cast<int>(nodes.size()), std::vector<int>(static_cast<std::size_t>(count))};
        std::iota(node.cpus.begin(), node.cpus.end(), first);
        first += count;
        nodes.push_back(std::move(node));
    }
    return Topology(std::move(nodes));
}
constexpr int kNoSuchCpu = 5000;

std::unique_ptr<ThreadPool> pool_on(int thread_count, const Topology& topology) {
    auto pool = ThreadPool::create(thread_count, topology);
    REQUIRE(pool);
    return *std::move(pool);
}

}  // namespace

TEST_CASE("with tasks by node every index still runs once, in ascending order within its node",
          "[parallel][short][threads]") {
    const std::vector<std::vector<int>> machines{{1, 1}, {4, 4}, {1, 7}, {2, 1, 5}, {1, 1, 1, 1}};
    for (const std::vector<int>& cpus : machines) {
        for (const int threads : {1, 2, 3, 5}) {
            const auto pool = pool_on(threads, nodes_with(cpus, kNoSuchCpu));
            const auto nodes = static_cast<std::int64_t>(cpus.size());
            // Even lists, lists of which some are empty, and lists for another number of nodes.
            std::vector<std::vector<std::int64_t>> lists(3);
            for (std::int64_t n = 1; n <= nodes; ++n) lists[0].push_back(n * 600 / nodes);
            lists[1].assign(cpus.size(), 0);
            lists[1].back() = 600;
            lists[2] = {1, 2, 3, 4, 5, 6, 600};
            for (const std::vector<std::int64_t>& ends : lists) {
                std::vector<int> runs(600);
                std::vector<std::vector<std::int64_t>> seen(static_cast<std::size_t>(threads));
                parallel_for(
                    *pool, 600,
                    [&](std::int64_t index, int worker) noexcept {
                        ++runs[static_cast<std::size_t>(index)];  // plain memory: the thread sanitizer watches
                        seen[static_cast<std::size_t>(worker)].push_back(index);
                    },
                    ends);
                CHECK(std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; }));
                for (const auto& indices : seen) {
                    // A worker goes through each list once, so it goes back at most once a list.
                    std::int64_t backwards = 0;
                    for (std::size_t i = 1; i < indices.size(); ++i) backwards += indices[i] < indices[i - 1] ? 1 : 0;
                    CHECK(backwards < nodes);
                }
            }
        }
    }
}

TEST_CASE("a worker takes the tasks of its own node before it helps another", "[parallel][short]") {
    const Topology topology = nodes_with({2, 4}, kNoSuchCpu);
    const auto pool = pool_on(6, topology);
    // Each task waits until six threads have one, so each thread gets one, and there is one for each on its own node.
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> arrived{0};
        std::vector<int> worker_of(6);
        parallel_for(
            *pool, 6,
            [&](std::int64_t index, int worker) noexcept {
                worker_of[static_cast<std::size_t>(index)] = worker;
                arrived.fetch_add(1);
                while (arrived.load() < 6) std::this_thread::yield();
            },
            std::vector<std::int64_t>{2, 6});
        for (std::size_t i = 0; i < 6; ++i) CHECK(topology.node_of_worker(worker_of[i], 6) == (i < 2 ? 0 : 1));
    }
}

TEST_CASE("workers help where there is work", "[parallel][short]") {
    const auto pool = pool_on(4, nodes_with({1, 1}, kNoSuchCpu));
    std::atomic<int> arrived{0};
    // All on the second node, and only four threads together get through.
    parallel_for(
        *pool, 4,
        [&](std::int64_t, int) noexcept {
            arrived.fetch_add(1);
            while (arrived.load() < 4) std::this_thread::yield();
        },
        std::vector<std::int64_t>{0, 4});
    CHECK(arrived == 4);
}

TEST_CASE("workers are kept on their node's processors where there are several nodes, and nowhere else",
          "[parallel][short]") {
    const auto allowed = allowed_cpus();
    REQUIRE(allowed);
    const auto cpus_of_workers = [](ThreadPool& pool) {
        std::vector<std::vector<int>> cpus(static_cast<std::size_t>(pool.thread_count()));
        std::atomic<int> arrived{0};
        parallel_for(pool, pool.thread_count(), [&](std::int64_t, int worker) noexcept {
            cpus[static_cast<std::size_t>(worker)] = allowed_cpus().value_or(std::vector<int>{});
            arrived.fetch_add(1);
            while (arrived.load() < pool.thread_count()) std::this_thread::yield();
        });
        return cpus;
    };
    // Node 1 is a processor that there is.
    const Topology real(std::vector<NumaNode>{{0, {kNoSuchCpu, kNoSuchCpu + 1}}, {1, {allowed->back()}}});
    const auto pool = pool_on(3, real);
    const auto cpus = cpus_of_workers(*pool);
    CHECK(cpus[0] == *allowed);  // the caller
    CHECK(cpus[1] == *allowed);  // kept on processors that are not there, so not kept
    CHECK(cpus[2] == std::vector<int>{allowed->back()});
    CHECK(allowed_cpus() == allowed);
    const auto free = pool_on(3, Topology(std::vector<NumaNode>{{0, {allowed->back()}}}));
    for (const std::vector<int>& worker : cpus_of_workers(*free)) CHECK(worker == *allowed);
}

TEST_CASE("sleeping workers wake for the next job", "[parallel][short]") {
    const auto pool = pool_of(4);
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> arrived{0};
        // Each task waits for all four, so the job ends only when four threads take part.
        parallel_for(*pool, 4, [&](std::int64_t, int) noexcept {
            arrived.fetch_add(1);
            while (arrived.load() < 4) std::this_thread::yield();
        });
        CHECK(arrived == 4);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // well past the spinning
    }
}

TEST_CASE("several threads may use one pool, and many pools may live", "[parallel][short]") {
    const auto pool = pool_of(3);
    std::vector<std::int64_t> sums(4);
    std::vector<std::thread> callers;
    for (std::size_t c = 0; c < sums.size(); ++c) {
        callers.emplace_back([&, c] {
            const auto own = ThreadPool::create(2);
            for (int round = 0; round < 200; ++round) {
                std::atomic<std::int64_t> sum{0};
                const auto body = [&](std::int64_t i, int) noexcept { sum.fetch_add(i); };
                parallel_for(*pool, 100, body);
                parallel_for(**own, 100, body);
                sums[c] += sum;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    for (const std::int64_t sum : sums) CHECK(sum == 200 * 2 * 4950);
}

TEST_CASE("a task may run a loop on its own pool", "[parallel][short]") {
    const auto pool = pool_of(3);
    std::atomic<std::int64_t> sum{0};
    std::atomic<bool> same_worker{true};
    parallel_for(*pool, 10, [&](std::int64_t, int outer) noexcept {
        parallel_for(*pool, 10, [&](std::int64_t i, int inner) noexcept {
            if (inner != outer) same_worker = false;
            sum.fetch_add(i);
        });
    });
    CHECK(sum == 450);
    CHECK(same_worker);
}

TEST_CASE("workers have every signal blocked, the maker keeps its mask", "[parallel][short]") {
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    const auto pool = pool_of(2);
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    std::atomic<int> arrived{0};
    std::atomic<bool> blocked{false};
    parallel_for(*pool, 2, [&](std::int64_t, int worker) noexcept {
        arrived.fetch_add(1);
        while (arrived.load() < 2) std::this_thread::yield();
        if (worker != 1) return;
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked =
            sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGPROF) == 1 && sigismember(&mask, SIGTERM) == 1;
    });
    CHECK(blocked);
    for (int signal = 1; signal < 32; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

TEST_CASE("a pool has as many threads as the process may use, unless told", "[parallel][short]") {
    CHECK(pool_of(0)->thread_count() == usable_cpu_count());
    CHECK(ThreadPool::create(-1).status().code() == StatusCode::invalid_argument);
    CHECK(ThreadPool::create(ThreadPool::kThreadsMax + 1).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("an idle pool uses no processor time", "[parallel][short]") {
    const auto pool = pool_of(4);
    parallel_for(*pool, 8, [](std::int64_t, int) noexcept {});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // past the spinning
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(std::clock() - before < CLOCKS_PER_SEC / 50);
}
