// Text on its way through normalisation, with the trust of each byte alongside, so that a marker which untrusted text
// turns into only by normalisation ("＜|im_end|＞" under NFKC) is still known as untrusted.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tokenizer/word.hpp"

namespace mixtura {

struct TracedText {
    std::string bytes;
    std::string trust;  // empty: all trusted; else one of '\0' and '\1' for each byte

    Word word() const noexcept { return {bytes, trust.empty() ? nullptr : trust.data()}; }
};

// How long a text of `bytes` bytes may become on its way to the model.  The worst honest growth is NFKD's (11 times,
// for U+FDFA); a file can ask for any other, and for it once in every step.
constexpr std::size_t expanded_bytes_max(std::size_t bytes) noexcept { return 32 * bytes + 65536; }

// BUDGET_EXCEEDED when `bytes` are more than `bytes_max`.
inline Status check_expansion(std::size_t bytes, std::size_t bytes_max) {
    if (bytes <= bytes_max) return {};
    return error(StatusCode::budget_exceeded, "the vocabulary's rules make more than ", bytes_max,
                 " bytes of this text");
}

// Collects the result of one normalisation step over `input`.  A replacement is trusted when all it replaces is.
class TracedWriter {
  public:
    explicit TracedWriter(const TracedText& input) : input_(input) { out_.bytes.reserve(input.bytes.size() + 16); }

    void keep(std::size_t begin, std::size_t end) {
        out_.bytes.append(input_.bytes, begin, end - begin);
        if (!input_.trust.empty()) out_.trust.append(input_.trust, begin, end - begin);
    }
    void replace(std::size_t begin, std::size_t end, std::string_view replacement) {
        out_.bytes += replacement;
        if (!input_.trust.empty()) {
            out_.trust.append(replacement.size(), input_.word().touches_untrusted(begin, end) ? '\0' : '\1');
        }
    }
    // What the vocabulary's own rules add.
    void insert(std::string_view own) {
        out_.bytes += own;
        if (!input_.trust.empty()) out_.trust.append(own.size(), '\1');
    }
    TracedText& text() { return out_; }
    TracedText finish() { return std::move(out_); }

  private:
    const TracedText& input_;
    TracedText out_;
};

}  // namespace mixtura
