// Our threads: a fixed number of workers that run the tasks of one parallel_for at a time.  Owned by an Engine, a
// Generation or a test; many pools may exist, none is global.  Workers have every signal blocked (a host's handlers run
// on the host's threads), sleep when idle, and end with the pool.  On a machine with several NUMA nodes each worker is
// kept on the processors of one and takes the tasks whose memory is there before it helps the others; with one node
// none is.
#pragma once

#include <mixtura/status.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "parallel/parallel_for.hpp"
#include "parallel/topology.hpp"

namespace mixtura {

class ThreadPool final : public ParallelFor {
  public:
    // `thread_count` counts the caller of run(), which takes part: a pool of 1 starts no thread.  0:
    // usable_cpu_count().  `topology`: nothing: the machine's own.  INVALID_ARGUMENT when negative or above
    // kThreadsMax, OUT_OF_HOST_MEMORY when the system refuses a thread.
    static Result<std::unique_ptr<ThreadPool>> create(int thread_count = 0,
                                                      std::optional<Topology> topology = std::nullopt) noexcept;
    static constexpr int kThreadsMax = 4096;

    ~ThreadPool() override;
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int thread_count() const noexcept override { return static_cast<int>(workers_.size()) + 1; }

    // The nodes its workers are spread over, for placing what they will read: one for a pool of one thread.
    const Topology& topology() const noexcept { return topology_; }

    // Threads: any-thread; calls from several threads take turns.  A call from inside one of this pool's own tasks runs
    // its indices on the spot, under the calling task's worker number.
    void run(std::int64_t count, ParallelTask task) noexcept override;

  private:
    ThreadPool() noexcept = default;
    void work(int worker) noexcept;              // a worker thread's life
    void deal(std::int64_t count) noexcept;      // task_'s indices into lists
    void take_tasks(int worker) noexcept;        // claims indices of the open job until there are none left
    int worker_of_this_thread() const noexcept;  // -1 for a thread that is in no task of this pool

    // Indices that are handed out front to back, on a cache line of their own: `next` is hammered by claims.
    struct alignas(64) TaskList {
        std::atomic<std::int64_t> next{0};
        std::int64_t end = 0;
    };

    Topology topology_;
    std::vector<int> node_of_worker_;  // [thread count]; the caller, who is kept nowhere, counts as the first worker

    // The job: written only while no worker is inside (inside_ == 0 and open_ == false).
    ParallelTask task_;
    std::size_t list_count_ = 1;         // 1, or one a node
    std::unique_ptr<TaskList[]> lists_;  // [node count]

    // On a cache line of its own: sleepers watch it.
    alignas(64) std::atomic<std::uint32_t> epoch_{0};   // rises by one with each job, and once more to end the pool
    alignas(64) std::atomic<std::uint32_t> inside_{0};  // workers that may be reading the job
    std::atomic<bool> open_{false};                     // whether the job may be joined
    std::atomic<bool> ending_{false};
    std::atomic<std::thread::id> caller_{};  // who is in run()
    std::mutex turn_;                        // held for the length of a run()
    std::vector<std::thread> workers_;
};

}  // namespace mixtura
