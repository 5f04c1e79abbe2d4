// The floating-point environment our arithmetic is defined in: round to nearest even, denormals kept, exceptions
// masked. A host may run in flush-to-zero mode or with another rounding, and threads inherit the mode of whoever
// started them; both change results (design.md, the determinism rule, 3).  So a FpEnvironment stands at every entry to
// arithmetic and in every task of parallel_for, and puts the host's state back, sticky exception flags included.
//
// The compiler does not know that arithmetic depends on this register and may move register-only operations across the
// guard.  Code under the guard is therefore reached by a call the compiler cannot see through (another translation unit
// or a function pointer): the volatile asm with its memory clobber holds such calls in place.
#pragma once

#include <cstdint>

namespace mixtura {

class FpEnvironment {
  public:
    FpEnvironment() noexcept {
        read(saved_);
        write(kDefined);
    }
    ~FpEnvironment() { write(saved_); }
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    // MXCSR: bits 7-12 mask the six exceptions, rounding (13-14) nearest, no flush-to-zero (15), no denormals-are-zero
    // (6).
    using Word = std::uint32_t;
    static constexpr Word kDefined = 0x1F80;
    static void read(Word& word) noexcept { __asm__ volatile("stmxcsr %0" : "=m"(word) : : "memory"); }
    static void write(const Word& word) noexcept { __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory"); }
#elif defined(__aarch64__)
    // FPCR: rounding (22-23) nearest, no flush-to-zero (24, and 19 for f16), traps off; the flags live in FPSR.
    using Word = std::uint64_t;
    static constexpr Word kDefined = 0;
    static void read(Word& word) noexcept { __asm__ volatile("mrs %0, fpcr" : "=r"(word) : : "memory"); }
    static void write(const Word& word) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(word) : "memory"); }
#else
#error "mixtura has no floating-point guard for this processor: add its control register here"
#endif
    Word saved_ = 0;
};

}  // namespace mixtura
