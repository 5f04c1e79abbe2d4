// The contract of running many tasks at once, and the way kernels call it.  ThreadPool implements it; an embedder that
// has threads of its own may implement it instead.  What a task computes never depends on who runs it or when
// (design.md, the determinism rule), so any implementation that runs each index once gives the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "parallel/fp_environment.hpp"

namespace mixtura {

inline constexpr int kNodesMax = 64;  // NUMA nodes: eight sockets of eight

// One body for many indices.  `worker` is in [0, thread_count()) and no two bodies that run at the same time within one
// run() share it: scratch memory may be indexed by it.
struct ParallelTask {
    void (*body)(const void* context, std::int64_t index, int worker) noexcept = nullptr;
    const void* context = nullptr;
    // Where the memory lies that the tasks read: those of [node_ends[n - 1], node_ends[n]) read node n's.  Ascending up
    // to the count; empty: nothing is known.  A hint, which changes who runs what and nothing else.
    std::span<const std::int64_t> node_ends = {};
};

class ParallelFor {
  public:
    virtual ~ParallelFor() = default;

    // Most bodies that one run() has in flight; at least 1 and constant for the object's life.
    virtual int thread_count() const noexcept = 0;

    // Calls task.body once for each index in [0, count) and returns when all have returned; what they wrote is then
    // visible to the caller.  Indices are handed out in ascending order (of each node, where task.node_ends tells), so
    // that neighbours in memory are read at about the same time.  Cannot fail: with no thread to be had the caller runs
    // everything.
    virtual void run(std::int64_t count, ParallelTask task) noexcept = 0;
};

// Runs everything on the calling thread, in order.
class SerialFor final : public ParallelFor {
  public:
    int thread_count() const noexcept override { return 1; }
    void run(std::int64_t count, ParallelTask task) noexcept override {
        for (std::int64_t i = 0; i < count; ++i) task.body(task.context, i, 0);
    }
};

// parallel_for(threads, count, [&](std::int64_t index, int worker) noexcept { ... }): each index once, in the defined
// floating-point environment whatever the thread's own is.  The guard costs some 20 cycles a task.
template <class Body>
void parallel_for(ParallelFor& threads, std::int64_t count, const Body& body,
                  std::span<const std::int64_t> node_ends = {}) noexcept {
    static_assert(std::is_nothrow_invocable_v<const Body&, std::int64_t, int>,
                  "a task has nobody to throw at: mark the body noexcept");
    threads.run(count, {[](const void* context, std::int64_t index, int worker) noexcept {
                            const FpEnvironment guard;
                            (*static_cast<const Body*>(context))(index, worker);
                        },
                        std::addressof(body), node_ends});
}

}  // namespace mixtura
