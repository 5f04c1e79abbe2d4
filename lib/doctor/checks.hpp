// The checks behind check_health(), one function each: surroundings in, a line out.  None fails but for want of memory
// (std::bad_alloc); what cannot be found out is a note that says so.  Text from the system is quoted, whatever it says.
#pragma once

#include <mixtura/doctor.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/surroundings.hpp"

namespace mixtura {

// processor_checks.cpp
HealthCheck check_build();
HealthCheck check_processor(const Surroundings& here);
HealthCheck check_instruction_sets(const Surroundings& here);
HealthCheck check_threads(const Surroundings& here);
HealthCheck check_numa(const Surroundings& here);

// memory_checks.cpp
HealthCheck check_memory(const Surroundings& here);
HealthCheck check_memory_limits(const Surroundings& here);
HealthCheck check_locked_memory(const Surroundings& here);
HealthCheck check_huge_pages(const Surroundings& here);

// system_checks.cpp
HealthCheck check_kernel(const Surroundings& here);
HealthCheck check_c_library(const Surroundings& here);
HealthCheck check_clock(const Surroundings& here);
HealthCheck check_io_uring(const Surroundings& here);
HealthCheck check_cuda(const Surroundings& here);
HealthCheck check_nccl();
HealthCheck check_mpi();

// disk_checks.cpp: "path", and where it is there "free_space" and "direct_reads".
std::vector<HealthCheck> check_path(const std::string& path);

// answer_checks.cpp: one for each of backends(), "answers.ref" first; none where MIXTURA_FORCE_ISA cannot be, which
// check_instruction_sets() says.  OUT_OF_HOST_MEMORY.
Result<std::vector<HealthCheck>> check_answers(const Surroundings& here);

// "65.5 MB", "16.5 GB"
std::string readable_bytes(std::uint64_t bytes);

}  // namespace mixtura
