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
    FpEnvironment() noexcept : saved_(read()) { define(); }
    ~FpEnvironment() { write(saved_); }
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    // MXCSR: bits 7-12 mask the six exceptions, rounding (13-14) nearest, no flush-to-zero (15), no denormals-are-zero
    // (6); the flags are bits 0-5.
    using State = std::uint32_t;
    static State read() noexcept {
        State state;
        __asm__ volatile("stmxcsr %0" : "=m"(state) : : "memory");
        return state;
    }
    static void write(const State& state) noexcept { __asm__ volatile("ldmxcsr %0" : : "m"(state) : "memory"); }
    static void define() noexcept { write(0x1F80); }
#elif defined(__aarch64__)
    // FPCR: rounding (22-23) nearest, no flush-to-zero (24, and 19 for f16), traps off.  The flags live in FPSR.
    struct State {
        std::uint64_t control, status;
    };
    static State read() noexcept {
        State state;
        __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(state.control), "=r"(state.status) : : "memory");
        return state;
    }
    static void write(const State& state) noexcept {
        __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(state.control), "r"(state.status) : "memory");
    }
    static void define() noexcept { __asm__ volatile("msr fpcr, xzr" : : : "memory"); }
#else
#error "mixtura has no floating-point guard for this processor: add its control register here"
#endif
    State saved_;
};

}  // namespace mixtura
