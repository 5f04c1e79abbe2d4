// Floating-point modes a host may run in, to show that results do not depend on them.
#pragma once

#include <array>
#include <cstdint>

namespace mixtura::test {

enum class FpMode { usual, flush_to_zero, upward, downward, towards_zero };
inline constexpr std::array kFpModes{FpMode::usual, FpMode::flush_to_zero, FpMode::upward, FpMode::downward,
                                     FpMode::towards_zero};

// Sets a mode for its lifetime, on the calling thread.
class HostFpMode {
  public:
    explicit HostFpMode(FpMode mode) noexcept : saved_(read()) {
#if defined(__x86_64__)
        constexpr std::uint64_t kFlush = 1U << 15 | 1U << 6, kDown = 1U << 13, kUp = 2U << 13, kZero = 3U << 13;
        constexpr std::uint64_t kClear = kFlush | kZero;
#else
        constexpr std::uint64_t kFlush = 1U << 24, kUp = 1U << 22, kDown = 2U << 22, kZero = 3U << 22;
        constexpr std::uint64_t kClear = kFlush | kZero;
#endif
        constexpr std::array<std::uint64_t, 5> kBits{0, kFlush, kUp, kDown, kZero};
        set_ = (saved_ & ~kClear) | kBits[static_cast<std::size_t>(mode)];
        write(set_);
    }
    ~HostFpMode() { write(saved_); }
    HostFpMode(const HostFpMode&) = delete;
    HostFpMode& operator=(const HostFpMode&) = delete;

    // Sticky flags aside (arithmetic in between may raise them).
    bool is_in_force() const noexcept { return (read() & ~kFlags) == (set_ & ~kFlags); }

  private:
#if defined(__x86_64__)
    static constexpr std::uint64_t kFlags = 0x3F;
    static std::uint64_t read() noexcept { return __builtin_ia32_stmxcsr(); }
    static void write(std::uint64_t word) noexcept { __builtin_ia32_ldmxcsr(static_cast<unsigned>(word)); }
#else
    static constexpr std::uint64_t kFlags = 0;
    static std::uint64_t read() noexcept {
        std::uint64_t word;
        __asm__ volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void write(std::uint64_t word) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#endif
    std::uint64_t saved_, set_ = 0;
};

}  // namespace mixtura::test
