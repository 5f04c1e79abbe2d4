#include "parallel/thread_pool.hpp"

#include <signal.h>

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
