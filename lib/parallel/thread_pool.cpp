#include "parallel/thread_pool.hpp"

#include <pthread.h>
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

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int thread_count) noexcept {
    return without_exceptions([&]() -> Result<std::unique_ptr<ThreadPool>> {
        if (thread_count < 0 || thread_count > kThreadsMax) {
            return error(StatusCode::invalid_argument, "thread count is ", thread_count,
                         ", expected 0 (one a usable processor) to ", kThreadsMax);
        }
        if (thread_count == 0) thread_count = usable_cpu_count();
        std::unique_ptr<ThreadPool> pool(new ThreadPool);
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
        count_ = count;
        next_.store(0, std::memory_order_relaxed);
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

void ThreadPool::take_tasks(int worker) noexcept {
    while (true) {
        const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= count_) return;
        task_.body(task_.context, index, worker);
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
