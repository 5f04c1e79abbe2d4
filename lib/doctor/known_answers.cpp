#include "doctor/known_answers.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/fp_environment.hpp"

namespace mixtura {
namespace {

std::string hexadecimal(std::uint64_t number) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string digits;
    do {
        digits.insert(digits.begin(), kDigits[number & 15]);
        number >>= 4;
    } while (number != 0);
    return "0x" + digits;
}

Status wrong_answer(const Backend& backend, const KnownCase& known, const KnownAnswer& found,
                    const KernelTable& reference) {
    KnownAnswer expected;
    MIXTURA_RETURN_IF_ERROR(known.run(reference, expected));
    const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    if (wrong != found.end() && right != expected.end()) {
        return error(StatusCode::internal, "back-end ", backend.name, ": number ", wrong - found.begin(), " of ",
                     known.name, " is ", hexadecimal(*wrong), ", the scalar reference gives ", hexadecimal(*right));
    }
    return error(StatusCode::internal, "back-end ", backend.name, ": the checksum of ", known.name, " is ",
                 hexadecimal(checksum_of(found)), ", expected ", hexadecimal(known.checksum));
}

}  // namespace

Status check_known_case(const KnownCase& known, std::span<const Backend> tested, const KernelTable& reference,
                        std::span<Status> statuses) {
    KnownAnswer found;
    for (std::size_t i = 0; i < tested.size(); ++i) {
        if (!statuses[i].is_ok()) continue;
        found.clear();
        const Status status = known.run(*tested[i].table, found);
        if (status.code() == StatusCode::out_of_host_memory) return status;
        if (!status.is_ok()) {
            statuses[i] =
                error(StatusCode::internal, "back-end ", tested[i].name, ": ", known.name, ": ", status.message());
        } else if (checksum_of(found) != known.checksum) {
            statuses[i] = wrong_answer(tested[i], known, found, reference);
        }
    }
    return {};
}

std::uint64_t checksum_of(const KnownAnswer& answer) noexcept {
    std::uint64_t sum = 0xCBF2'9CE4'8422'2325U;
    for (const std::uint32_t word : answer) {
        for (int shift = 0; shift < 32; shift += 8) sum = (sum ^ (word >> shift & 0xFFU)) * 0x100'0000'01B3U;
    }
    return sum;
}

Result<std::vector<Status>> check_known_answers(std::span<const Backend> tested, const KernelTable& reference) {
    const FpEnvironment guard;  // the numbers are made in it, too
    std::vector<Status> statuses(tested.size());
    for (const KnownFormat& format : known_formats()) {
        MIXTURA_ASSIGN_OR_RETURN(const KnownCase known, known_mixture(format));
        MIXTURA_RETURN_IF_ERROR(check_known_case(known, tested, reference, statuses));
    }
    for (const KnownCache& cache : known_caches()) {
        MIXTURA_ASSIGN_OR_RETURN(const KnownCase known, known_attention(cache));
        MIXTURA_RETURN_IF_ERROR(check_known_case(known, tested, reference, statuses));
    }
    return statuses;
}

Result<std::vector<Backend>> testable_backends(std::optional<std::string_view> forced) {
    MIXTURA_ASSIGN_OR_RETURN(const Backend* const chosen, choose_backend(forced, cpu_features()));
    std::vector<Backend> testable;
    for (const Backend& backend : backends()) {
        const bool is_chosen = forced && backend.name == chosen->name;
        if (backend.is_supported && (backend.is_chosen_unasked || is_chosen)) testable.push_back(backend);
        if (is_chosen) break;
    }
    return testable;
}

}  // namespace mixtura
