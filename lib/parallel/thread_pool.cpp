#include "parallel/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <system_error>

#include "base/error.hpp"
#include "base/machine.hpp"

namespace mixtura {
namespace {

// Between two matrix products of one token lie a few microseconds; waking a sleeper costs some 50.  So a waiting thread
// watches for 50 before it sleeps, and a pool that is really idle costs nothing.
constexpr std::chrono::microseconds kSpin{50};

void pause_briefly() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" : : : "memory");
#endif
}

// Returns once `word` no longer holds `old`.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t old) noexcept {
    const auto give_up = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < 32; ++i) {
            if (word.load(std::memory_order_acquire) != old) return;
            pause_briefly();
        }
    } while (std::chrono::steady_clock::now() < give_up);
    word.wait(old, std::memory_order_acquire);
}

// Keeps the calling thread on these processors.  Where the system does not have them, or does not let us, it runs
// wherever it is put: slower, not wrong.
void keep_on(const std::vector<int>& cpus) noexcept {
    constexpr int kCpus = 8192;
    cpu_set_t mask[kCpus / CPU_SETSIZE];
    CPU_ZERO_S(sizeof mask, mask);
    for (const int cpu : cpus) {
        if (cpu < kCpus) CPU_SET_S(static_cast<std::size_t>(cpu), sizeof mask, mask);
    }
    ::sched_setaffinity(0, sizeof mask, mask);
}

// A new thread inherits the signal mask of its maker: blocked here, it is born with every signal blocked.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &saved_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t saved_;
};

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int thread_count, std::optional<Topology> topology) noexcept {
    return without_exceptions([&]() -> Result<std::unique_ptr<ThreadPool>> {
        if (thread_count < 0 || thread_count > kThreadsMax) {
            return error(StatusCode::invalid_argument, "thread count is ", thread_count,
                         ", expected 0 (one a usable processor) to ", kThreadsMax);
        }
        if (thread_count == 0) thread_count = usable_cpu_count();
        std::unique_ptr<ThreadPool> pool(new ThreadPool);
        if (thread_count > 1) pool->topology_ = topology ? *std::move(topology) : Topology::of_machine();
        pool->lists_ = std::make_unique<TaskList[]>(static_cast<std::size_t>(pool->topology_.node_count()));
        for (int worker = 0; worker < thread_count; ++worker)
            pool->node_of_worker_.push_back(pool->topology_.node_of_worker(worker, thread_count));
        const SignalsBlocked guard;
        pool->workers_.reserve(static_cast<std::size_t>(thread_count - 1));
        for (int worker = 1; worker < thread_count; ++worker) {
            try {
                pool->workers_.emplace_back([target = pool.get(), worker] { target->work(worker); });
            } catch (const std::system_error&) {
                return error(StatusCode::out_of_host_memory, "the system refused thread ", worker + 1, " of ",
                             thread_count);
            }
        }
        return pool;
    });
}

ThreadPool::~ThreadPool() {
    ending_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t count, ParallelTask task) noexcept {
    if (count <= 0) return;
    const int here = worker_of_this_thread();
    if (here >= 0) {
        for (std::int64_t i = 0; i < count; ++i) task.body(task.context, i, here);
        return;
    }
    const std::lock_guard<std::mutex> turn(turn_);
    caller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    if (count == 1 || workers_.empty()) {
        for (std::int64_t i = 0; i < count; ++i) task.body(task.context, i, 0);
    } else {
        task_ = task;
        deal(count);
        open_.store(true);
        epoch_.fetch_add(1, std::memory_order_release);
        epoch_.notify_all();
        take_tasks(0);
        // A worker counts itself in before it looks whether the job is open, and the job is closed before the count is
        // read: so either it is counted and waited for, or it finds the job closed and touches nothing.  A worker that
        // was slow to wake is not waited for.
        open_.store(false);
        for (std::uint32_t inside = inside_.load(); inside != 0; inside = inside_.load()) wait_while(inside_, inside);
    }
    caller_.store(std::thread::id(), std::memory_order_relaxed);
}

void ThreadPool::work(int worker) noexcept {
    if (!topology_.nodes().empty())
        keep_on(topology_.nodes()[static_cast<std::size_t>(node_of_worker_[static_cast<std::size_t>(worker)])].cpus);
    std::uint32_t seen = 0;
    while (true) {
        wait_while(epoch_, seen);
        seen = epoch_.load(std::memory_order_acquire);
        if (ending_.load(std::memory_order_relaxed)) return;
        inside_.fetch_add(1);
        if (open_.load()) take_tasks(worker);
        if (inside_.fetch_sub(1) == 1) inside_.notify_all();
    }
}

void ThreadPool::deal(std::int64_t count) noexcept {
    // A list that counts other nodes than ours, of a model that was opened under another topology, says nothing here.
    const auto nodes = static_cast<std::size_t>(topology_.node_count());
    list_count_ = task_.node_ends.size() == nodes ? nodes : 1;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < list_count_; ++i) {
        const std::int64_t end = i + 1 == list_count_ ? count : task_.node_ends[i];
        lists_[i].next.store(first, std::memory_order_relaxed);
        lists_[i].end = end;
        first = end;
    }
}

void ThreadPool::take_tasks(int worker) noexcept {
    // Its own node's list first; then it helps the nodes behind, so that helpers of several nodes spread.
    const auto own = static_cast<std::size_t>(node_of_worker_[static_cast<std::size_t>(worker)]);
    for (std::size_t i = 0; i < list_count_; ++i) {
        TaskList& list = lists_[(own + i) % list_count_];
        while (true) {
            const std::int64_t index = list.next.fetch_add(1, std::memory_order_relaxed);
            if (index >= list.end) break;
            task_.body(task_.context, index, worker);
        }
    }
}

int ThreadPool::worker_of_this_thread() const noexcept {
    const std::thread::id self = std::this_thread::get_id();
    if (caller_.load(std::memory_order_relaxed) == self) return 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].get_id() == self) return static_cast<int>(i) + 1;
    }
    return -1;
}

}  // namespace mixtura
