// Adds the time since the last lap to one kind of operation; without a place to add to it does nothing.
#pragma once

#include <mixtura/op_times.hpp>

#include <chrono>

namespace mixtura {

class OpClock {
  public:
    explicit OpClock(OpTimes* times = nullptr) noexcept : times_(times) {}

    void begin() noexcept {
        if (times_ == nullptr) return;
        ++times_->steps;
        last_ = Clock::now();
    }
    // What was done since begin() or the last lap was `op`.
    void lap(Op op) noexcept {
        if (times_ == nullptr) return;
        const Clock::time_point now = Clock::now();
        times_->seconds[static_cast<std::size_t>(op)] += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

  private:
    using Clock = std::chrono::steady_clock;
    OpTimes* times_;
    Clock::time_point last_;
};

}  // namespace mixtura
