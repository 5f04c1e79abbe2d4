// The known answers: what a back-end has to give for a few small computations, bit for bit.  A case is run by every
// back-end one after another; an answer is right where its checksum is the one written down, and the scalar reference's
// answer says where a wrong one went wrong.  self_test() and check_health() call it; tests hand it broken tables.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/known_weights.hpp"
#include "kernels/backend.hpp"

namespace mixtura {

// An answer as 32-bit words: expert ids, and the bits of floats.
using KnownAnswer = std::vector<std::uint32_t>;

// A computation with its inputs ready.
struct KnownCase {
    std::string name;  // "a mixture in q4_k"
    std::uint64_t checksum = 0;
    std::function<Status(const KernelTable& kernels, KnownAnswer& answer)> run;
};

// Router and ExpertPool: hidden [7, H] → top 2 of 5 experts and a shared one, each activation in some format.
Result<KnownCase> known_mixture(const KnownFormat& format);
// Norms, rotary embedding, the cache's rounding, and attention over two splits.
struct KnownCache {
    DType key_dtype, value_dtype;
    std::uint64_t attention_checksum;
};
std::span<const KnownCache> known_caches() noexcept;
Result<KnownCase> known_attention(const KnownCache& cache);

inline constexpr std::size_t kKnownCaseCount = 21;  // 16 formats of weights, 5 of the cache

// 64-bit FNV-1a over the words' bytes, low byte first (Fowler, Noll, Vo, draft-eastlake-fnv-17).
std::uint64_t checksum_of(const KnownAnswer& answer) noexcept;

// Runs one case on each of `tested` whose status is ok yet, and leaves there what is wrong with its answer. `reference`
// answers only where an answer is wrong, to say where.  OUT_OF_HOST_MEMORY.
Status check_known_case(const KnownCase& known, std::span<const Backend> tested, const KernelTable& reference,
                        std::span<Status> statuses);

// One Status for each of `tested`: the first case that it got wrong, or ok.  Pre: all of them can run here.
Result<std::vector<Status>> check_known_answers(std::span<const Backend> tested, const KernelTable& reference);

// What check_known_answers() may run here: supported, and not above the one that MIXTURA_FORCE_ISA asks for (`forced`),
// for whoever forces a lower one may have met an emulator that cannot run the rest.  INVALID_ARGUMENT, NO_BACKEND as
// choose_backend().
Result<std::vector<Backend>> testable_backends(std::optional<std::string_view> forced);

}  // namespace mixtura
