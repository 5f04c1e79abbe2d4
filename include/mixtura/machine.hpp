// What this machine can do, measured: the ceilings that a rate of the same run is compared with.  On a shared machine
// they are what was to be had while they were measured, so measure them beside the work, not once and for all.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <string>

namespace mixtura {

struct MachineRates {
    int thread_count = 0;          // that were busy, the caller included
    double read_bytes_per_s = 0;   // from memory, each byte once, in order
    double integer_ops_per_s = 0;  // 8-bit products added up in 32 bits, in registers; a product and its sum are two
    double float_ops_per_s = 0;    // 32-bit fused steps, in registers; two each
};

// Takes about a second, and a buffer of at most 1 GiB (a quarter of the memory there is, where that is less), which is
// freed again.  The vector instructions are the widest of this processor that the kernels use too; where there are
// none, plain scalar code.  `thread_count` 0: as many as this process may keep busy.  INVALID_ARGUMENT,
// OUT_OF_HOST_MEMORY. Threads: any-thread.   Blocks: no.
Result<MachineRates> measure_machine(int thread_count = 0) noexcept;

struct DiskRate {
    double bytes_per_s = 0;
    std::uint64_t bytes_read = 0;
    bool is_direct = false;  // past the page cache; false: the file system refuses that, and memory may have answered
};

// Reads from the begin of a file, in order and four pieces at a time, for at most a second and a half or 4 GiB.
// NOT_FOUND, IO, INVALID_ARGUMENT (a folder, an empty file), OUT_OF_HOST_MEMORY.  Threads: any-thread.   Blocks on the
// disk.
Result<DiskRate> measure_disk(const std::string& path) noexcept;

}  // namespace mixtura
