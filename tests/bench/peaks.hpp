// What the machine allows, measured in the same run as what is compared with it: read bandwidth, int8 and f32 peaks.
#pragma once

#include "parallel/parallel_for.hpp"

namespace mixtura::bench {

struct Peaks {
    double read_bytes_per_s = 0;
    double int8_ops_per_s = 0;  // two operations a multiply-add; 0 where the processor has no vpdpbusd we use
    double f32_ops_per_s = 0;
};

// Wall time; or processor time of the calling thread, which is what to measure with one thread on a busy machine.
double seconds_now();
void use_processor_time();

// The best of several rounds, all threads of `threads` busy.
Peaks measure_peaks(ParallelFor& threads);

}  // namespace mixtura::bench
