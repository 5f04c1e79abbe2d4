#include "kernels/peak_loops.hpp"

#include <cstring>

#if defined(__x86_64__)
#include "kernels/x86/x86.hpp"
#elif defined(__aarch64__)
#include "kernels/arm/arm.hpp"
#endif

namespace mixtura {
namespace {

// Eight independent chains hide a latency of four cycles twice over.  Start, factor and result are volatile, so that no
// compiler works a chain out beforehand or leaves it out.
constexpr int kChains = 8;

template <class Number>
void chains(std::int64_t rounds, Number factor_value, Number step_value) noexcept {
    volatile Number source = factor_value, other = step_value, sink = 0;
    const Number factor = source, step = other;
    Number sum[kChains] = {};
    for (std::int64_t n = 0; n < rounds; ++n) {
        for (Number& s : sum) s = s * factor + step;
    }
    for (const Number s : sum) sink = s;
    static_cast<void>(sink);
}

// Unsigned, for wrapping sums.
void integer_chains(std::int64_t rounds) noexcept { chains<std::uint32_t>(rounds, 3, 5); }
void float_chains(std::int64_t rounds) noexcept { chains<float>(rounds, 0.5F, 1.0F); }

void read_words(const std::byte* from, std::int64_t bytes) noexcept {
    std::uint64_t any[4] = {};
    for (std::int64_t i = 0; i < bytes; i += 32) {
        std::uint64_t words[4];
        std::memcpy(words, from + i, sizeof words);
        for (int j = 0; j < 4; ++j) any[j] |= words[j];
    }
    volatile std::uint64_t sink = any[0] | any[1] | any[2] | any[3];
    static_cast<void>(sink);
}

}  // namespace

PeakLoops peak_loops([[maybe_unused]] const CpuFeatures& features) noexcept {
    PeakLoops loops{{integer_chains, 2 * kChains}, {float_chains, 2 * kChains}, read_words};
#if defined(__x86_64__)
    if (features.avx2) avx2::fill_peak_loops(loops);
    if (features.avx2 && features.avx_vnni) avx_vnni::fill_peak_loops(loops);
    if (features.avx2 && features.avx512) avx512::fill_peak_loops(loops);
    if (features.avx2 && features.avx512_vnni) avx512::fill_peak_loops_vnni(loops);
#elif defined(__aarch64__)
    neon::fill_peak_loops(loops);
    if (features.neon_dotprod) neon::fill_peak_loops_dot(loops);
#endif
    return loops;
}

}  // namespace mixtura
