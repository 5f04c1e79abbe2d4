#include "bench/peaks.hpp"

#include <ctime>

#include "measure/machine_rates.hpp"

namespace mixtura::bench {
namespace {

clockid_t clock_in_use = CLOCK_MONOTONIC;

}  // namespace

double seconds_now() noexcept {
    timespec now{};
    ::clock_gettime(clock_in_use, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void use_processor_time() { clock_in_use = CLOCK_THREAD_CPUTIME_ID; }

Peaks measure_peaks(ParallelFor& threads) {
    const auto rates = measure_rates(threads, seconds_now);
    if (!rates) return {};
    return {rates->read_bytes_per_s, rates->integer_ops_per_s, rates->float_ops_per_s};
}

}  // namespace mixtura::bench
