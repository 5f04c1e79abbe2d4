#include <mixtura/doctor.hpp>

#include <algorithm>
#include <iterator>

#include "base/env.hpp"
#include "base/error.hpp"
#include "doctor/checks.hpp"
#include "doctor/known_answers.hpp"

namespace mixtura {
namespace {

void append(std::vector<HealthCheck>& checks, std::vector<HealthCheck> more) {
    checks.insert(checks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::string_view verdict_name(HealthVerdict verdict) noexcept {
    switch (verdict) {
        case HealthVerdict::ok: return "ok";
        case HealthVerdict::note: return "note";
        case HealthVerdict::warning: return "warning";
        case HealthVerdict::failure: return "failure";
    }
    return "unknown";
}

Result<std::vector<HealthCheck>> check_health(const HealthOptions& options) noexcept {
    return without_exceptions([&]() -> Result<std::vector<HealthCheck>> {
        const Surroundings here = look_around(options.tries_filtered_calls);
        std::vector<HealthCheck> checks;
        checks.push_back(check_build());
        checks.push_back(check_processor(here));
        checks.push_back(check_instruction_sets(here));
        checks.push_back(check_threads(here));
        checks.push_back(check_numa(here));
        checks.push_back(check_memory(here));
        checks.push_back(check_memory_limits(here));
        checks.push_back(check_locked_memory(here));
        checks.push_back(check_huge_pages(here));
        checks.push_back(check_kernel(here));
        checks.push_back(check_c_library(here));
        checks.push_back(check_clock(here));
        checks.push_back(check_io_uring(here));
        checks.push_back(check_cuda(here));
        checks.push_back(check_nccl());
        checks.push_back(check_mpi());
        if (!options.path.empty()) append(checks, check_path(options.path));
        if (options.has_known_answers) {
            MIXTURA_ASSIGN_OR_RETURN(std::vector<HealthCheck> answers, check_answers(here));
            append(checks, std::move(answers));
        }
        return checks;
    });
}

Result<std::string> health_line(const HealthCheck& check) noexcept {
    return without_exceptions([&]() -> Result<std::string> {
        const std::string_view verdict = verdict_name(check.verdict);
        const std::string padding(std::max<std::size_t>(9, verdict.size() + 1) - verdict.size(), ' ');
        return text(verdict, padding, check.name, ": ", check.found, check.remedy.empty() ? "" : "; ", check.remedy);
    });
}

HealthVerdict worst_verdict(std::span<const HealthCheck> checks) noexcept {
    HealthVerdict worst = HealthVerdict::ok;
    for (const HealthCheck& check : checks) worst = std::max(worst, check.verdict);
    return worst;
}

Status self_test() noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::vector<Backend> tested,
                                 testable_backends(env_value(EnvVariable::force_isa)));
        MIXTURA_ASSIGN_OR_RETURN(const std::vector<Status> answers, check_known_answers(tested, *backends()[0].table));
        for (const Status& answer : answers) MIXTURA_RETURN_IF_ERROR(answer);
        return {};
    });
}

}  // namespace mixtura
