// One rendering's state that every part of the interpreter shares: arena, limits, where the template is, and the
// failure that stopped it.  Functions of the interpreter return false once fail() was called; a Status for each of a
// million evaluated nodes would cost more than the nodes do.
#pragma once

#include <mixtura/chat_template.hpp>

#include "base/error.hpp"
#include "tokenizer/template/arena.hpp"
#include "tokenizer/template/value.hpp"

namespace mixtura {

// From 1; columns count code points.
struct JinjaPosition {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
};

template <class... Parts>
std::string jinja_message(JinjaPosition at, const Parts&... parts) {
    return text("chat template line ", at.line, ", column ", at.column, ": ", parts...);
}

class JinjaRun {
  public:
    JinjaRun(const TemplateLimits& limits, const CivilTime& now)
        : arena_(limits.memory_bytes_max), limits_(limits), steps_left_(limits.steps_max), now_(now) {
        limits_.depth_max = std::min(limits_.depth_max, kDepthMax);
    }

    const TemplateLimits& limits() const noexcept { return limits_; }
    const CivilTime& now() const noexcept { return now_; }
    const Status& failure() const noexcept { return failure_; }
    std::size_t bytes_max() const noexcept { return arena_.bytes_max(); }

    // The node at work; set before anything that may fail.
    JinjaPosition at;

    // Charges work.
    [[nodiscard]] bool step(std::uint64_t count = 1) {
        if (count > steps_left_) return out_of_steps();
        steps_left_ -= count;
        return true;
    }
    // Charges for handling `bytes` of text: a step for each 64, about what copying them costs.
    [[nodiscard]] bool step_bytes(std::uint64_t bytes) {
        bytes += uncharged_bytes_;
        uncharged_bytes_ = bytes % 64;
        return step(bytes / 64);
    }

    template <class T>
    [[nodiscard]] T* make(std::size_t count = 1) {
        T* items = arena_.make_array<T>(count);
        if (items == nullptr) out_of_memory();
        return items;
    }

    // Bytes without a value yet.
    [[nodiscard]] char* make_bytes(std::size_t count) {
        char* bytes = static_cast<char*>(arena_.allocate(count));
        if (bytes == nullptr) out_of_memory();
        return bytes;
    }

    template <class... Parts>
    bool fail_as(StatusCode code, const Parts&... parts) {
        if (failure_.is_ok()) failure_ = Status(code, jinja_message(at, parts...));
        return false;
    }
    // The template cannot go on with this input.
    template <class... Parts>
    bool fail(const Parts&... parts) {
        return fail_as(StatusCode::invalid_argument, parts...);
    }
    bool out_of_steps();
    bool out_of_memory();

    // One level of recursion, for evaluation and for walks through nested values alike.
    class Level {
      public:
        explicit Level(JinjaRun& run) : run_(run), is_allowed_(++run.depth_ <= run.limits_.depth_max) {
            if (!is_allowed_) run.too_deep();
        }
        ~Level() { --run_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        explicit operator bool() const noexcept { return is_allowed_; }

      private:
        JinjaRun& run_;
        bool is_allowed_;
    };

  private:
    static constexpr std::size_t kDepthMax = 4000;  // takes 1.2 MiB of stack, of the 8 that threads have by default

    void too_deep();

    JinjaArena arena_;
    TemplateLimits limits_;
    std::uint64_t steps_left_;
    std::uint64_t uncharged_bytes_ = 0;
    std::size_t depth_ = 0;
    CivilTime now_;
    Status failure_;
};

}  // namespace mixtura
