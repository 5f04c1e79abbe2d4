// What the machine allows, measured in the same run as what is compared with it, by the benches' own clock; the
// measuring itself is lib/measure's.
#pragma once

#include "parallel/parallel_for.hpp"

namespace mixtura::bench {

struct Peaks {
    double read_bytes_per_s = 0;
    double int8_ops_per_s = 0;  // two operations a multiply-add
    double f32_ops_per_s = 0;
};

// Wall time; or processor time of the calling thread, which is what to measure with one thread on a busy machine.
double seconds_now() noexcept;
void use_processor_time();

// All threads of `threads` busy.  Zeros where there is no memory to measure with.
Peaks measure_peaks(ParallelFor& threads);

}  // namespace mixtura::bench
