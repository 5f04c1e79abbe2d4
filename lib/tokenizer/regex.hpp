// A compiled pattern and the search for its matches, with bounded work.  Compiled patterns are immutable and shared by
// threads; what a search writes to lives in a RegexWorkspace of the caller.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mixtura {

// Steps of PCRE2's matcher for one match.  Published patterns take a few for each character; 10 million take about 0.1
// s.
inline constexpr std::uint32_t kRegexStepsMax = 10'000'000;

class RegexWorkspace {
  public:
    RegexWorkspace() noexcept;
    ~RegexWorkspace();
    RegexWorkspace(const RegexWorkspace&) = delete;
    RegexWorkspace& operator=(const RegexWorkspace&) = delete;

  private:
    friend class Regex;
    bool prepare() noexcept;
    struct Handles;
    std::unique_ptr<Handles> handles_;
};

struct RegexMatch {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_found = false;
};

class Regex {
  public:
    // `pattern` in Oniguruma's syntax, with `where` as its place in messages.  CORRUPT_FILE, UNSUPPORTED.
    static Result<Regex> compile(std::string_view pattern, std::string_view where);
    // A pattern that matches `literal` itself, whatever it holds.
    static Result<Regex> compile_literal(std::string_view literal, std::string_view where);

    // The first match in well-formed UTF-8 that begins at or after `start`.  BUDGET_EXCEEDED when the matcher needs
    // more than its steps; OUT_OF_HOST_MEMORY.
    Status find(std::string_view subject, std::size_t start, RegexWorkspace& workspace, RegexMatch& match) const;

    // All matches in order, as the reference's iterator gives them: an empty match right behind another is left out.
    // `each(begin, end)` returns a Status; the first that is not ok ends the search.
    template <class Each>
    Status for_each_match(std::string_view subject, RegexWorkspace& workspace, Each&& each) const;

    std::string_view pattern() const noexcept { return *pattern_; }

  private:
    struct Code;
    Regex() = default;
    static Result<Regex> compile_translated(const std::string& translated, std::string_view pattern,
                                            std::string_view where);
    std::shared_ptr<const Code> code_;
    std::shared_ptr<const std::string> pattern_;
};

}  // namespace mixtura

#include "tokenizer/utf8.hpp"

namespace mixtura {

template <class Each>
Status Regex::for_each_match(std::string_view subject, RegexWorkspace& workspace, Each&& each) const {
    std::size_t start = 0;
    std::size_t last_end = static_cast<std::size_t>(-1);
    RegexMatch match;
    while (start <= subject.size()) {
        if (Status failure = find(subject, start, workspace, match); !failure.is_ok()) return failure;
        if (!match.is_found) break;
        if (match.begin == match.end && match.end == last_end) {
            if (start >= subject.size()) break;
            start += utf8_length(subject[start]);
            continue;
        }
        start = match.end;
        last_end = match.end;
        if (Status failure = each(match.begin, match.end); !failure.is_ok()) return failure;
    }
    return {};
}

}  // namespace mixtura
