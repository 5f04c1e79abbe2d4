// The known answers as checks, one a back-end.
#include "base/error.hpp"
#include "doctor/checks.hpp"
#include "doctor/known_answers.hpp"

namespace mixtura {
namespace {

HealthCheck answer_check(const Backend& backend, const Status& answer) {
    HealthCheck check{.name = text("answers.", backend.name)};
    check.found = text("the bits that are expected, in ", kKnownCaseCount, " cases");
    if (answer.is_ok()) return check;
    check.verdict = HealthVerdict::failure;
    check.found = answer.message();
    check.remedy =
        &backend == &backends()[0]
            ? "build again with the compilers and flags that the project names, and trust no result till then"
            : "set MIXTURA_FORCE_ISA to a set whose answers are right, and report this line and the processor";
    return check;
}

// Nobody runs what this machine lacks, or what was ruled out.
HealthCheck left_out(const Backend& backend) {
    HealthCheck check{.name = text("answers.", backend.name), .verdict = HealthVerdict::note};
    check.found = !backend.is_supported ? text("not run: it needs ", backend.required_isa)
                  : backend.is_chosen_unasked
                      ? std::string("not run: MIXTURA_FORCE_ISA rules it out")
                      : std::string("not run: it is used only where MIXTURA_FORCE_ISA names it");
    return check;
}

}  // namespace

Result<std::vector<HealthCheck>> check_answers(const Surroundings& here) {
    std::vector<HealthCheck> checks;
    const auto tested = testable_backends(here.forced_isa);
    if (!tested) return checks;
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<Status> answers, check_known_answers(*tested, *backends()[0].table));
    std::size_t next = 0;
    for (const Backend& backend : backends()) {
        const bool is_tested = next < tested->size() && (*tested)[next].name == backend.name;
        if (!is_tested) {
            checks.push_back(left_out(backend));
            continue;
        }
        checks.push_back(answer_check(backend, answers[next]));
        ++next;
    }
    return checks;
}

}  // namespace mixtura
