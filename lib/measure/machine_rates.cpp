#include "measure/machine_rates.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.hpp"
#include "base/machine.hpp"
#include "kernels/peak_loops.hpp"
#include "memory/aligned_buffer.hpp"
#include "parallel/thread_pool.hpp"

namespace mixtura {
namespace {

// A round of 5 ms is long beside the 50 us it takes to wake a thread, and short enough that of so many some meet no
// other process' turn.
constexpr int kRounds = 24;
constexpr double kRoundSeconds = 0.005;
// More tasks than threads, so that one thread's late start or interruption does not idle the others.
constexpr std::int64_t kTasksPerThread = 8;

// Many times the largest caches (some have hundreds of MB), and small enough for a container.
constexpr std::uint64_t kBufferBytesMax = std::uint64_t{1} << 30, kBufferBytesMin = std::uint64_t{1} << 24;
// One round reads a window of the buffer; it comes round again only after all the others have been through the caches.
constexpr std::int64_t kReadTaskBytes = 4 << 20, kWindowBytes = 128 << 20;

struct Timed {
    ParallelFor& threads;
    double (*seconds_now)() noexcept;

    template <class Body>
    double operator()(std::int64_t tasks, const Body& body) const {
        const double start = seconds_now();
        parallel_for(threads, tasks, [&](std::int64_t i, int) noexcept { body(i); });
        return std::max(seconds_now() - start, 1e-9);
    }
};

double ops_per_s(const Timed& timed, const PeakLoop& loop) {
    const std::int64_t tasks = timed.threads.thread_count() * kTasksPerThread;
    const auto round = [&](std::int64_t rounds) {
        return timed(tasks, [&](std::int64_t) noexcept { loop.run(rounds); });
    };
    std::int64_t rounds = 1024;
    while (round(rounds) < kRoundSeconds && rounds < std::int64_t{1} << 40) rounds *= 2;
    double best = round(rounds);
    for (int i = 1; i < kRounds; ++i) best = std::min(best, round(rounds));
    return static_cast<double>(tasks) * static_cast<double>(rounds) * static_cast<double>(loop.ops_per_round) / best;
}

std::int64_t buffer_bytes() {
    std::uint64_t memory = physical_memory_bytes();
    if (const auto limit = cgroup_memory_limit_bytes()) memory = memory == 0 ? *limit : std::min(memory, *limit);
    const std::uint64_t wanted = memory == 0 ? kBufferBytesMax : std::min(kBufferBytesMax, memory / 4);
    return static_cast<std::int64_t>(std::max(wanted, kBufferBytesMin)) / kReadTaskBytes * kReadTaskBytes;
}

Result<double> read_bytes_per_s(const Timed& timed, const PeakLoops& loops) {
    const std::int64_t bytes = buffer_bytes(), tasks = bytes / kReadTaskBytes;
    MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::allocate(static_cast<std::uint64_t>(bytes)));
    // Written by the threads that will read it: the system places a page near whoever touches it first.
    timed(tasks, [&](std::int64_t i) noexcept { std::memset(buffer.data() + i * kReadTaskBytes, 1, kReadTaskBytes); });
    const std::int64_t window = std::min(kWindowBytes, bytes), windows = bytes / window;
    double best = 0;
    for (int i = 0; i < kRounds; ++i) {
        const std::byte* from = buffer.data() + i % windows * window;
        const double seconds = timed(window / kReadTaskBytes, [&](std::int64_t task) noexcept {
            loops.read(from + task * kReadTaskBytes, kReadTaskBytes);
        });
        best = std::max(best, static_cast<double>(window) / seconds);
    }
    return best;
}

}  // namespace

double seconds_since_start() noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<MachineRates> measure_rates(ParallelFor& threads, double (*seconds_now)() noexcept) {
    const Timed timed{threads, seconds_now};
    const CpuFeatures features = cpu_features();
    const PeakLoops widest = peak_loops(features);
    MachineRates rates;
    rates.thread_count = threads.thread_count();
    rates.integer_ops_per_s = ops_per_s(timed, widest.integer);
    rates.float_ops_per_s = ops_per_s(timed, widest.floating);
    // Some processors start one 512-bit step a cycle but two of 256 bits, or clock lower for the wide ones.
    if (features.avx512) {
        CpuFeatures narrower = features;
        narrower.avx512 = narrower.avx512_vnni = false;
        const PeakLoops narrow = peak_loops(narrower);
        rates.integer_ops_per_s = std::max(rates.integer_ops_per_s, ops_per_s(timed, narrow.integer));
        rates.float_ops_per_s = std::max(rates.float_ops_per_s, ops_per_s(timed, narrow.floating));
    }
    MIXTURA_ASSIGN_OR_RETURN(rates.read_bytes_per_s, read_bytes_per_s(timed, widest));
    return rates;
}

Result<MachineRates> measure_machine(int thread_count) noexcept {
    return without_exceptions([&]() -> Result<MachineRates> {
        MIXTURA_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> threads, ThreadPool::create(thread_count));
        return measure_rates(*threads, seconds_since_start);
    });
}

}  // namespace mixtura
