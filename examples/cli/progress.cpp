#include "cli/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace mixtura::cli {

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)), total_(total), is_shown_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::int64_t done) const {
    if (!is_shown_) return;
    const int percent =
        total_ <= 0 ? 100 : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total_));
    if (percent != percent_) std::fprintf(stderr, "\r%s %3d %%", what_.c_str(), percent);
    percent_ = percent;
}

Progress::~Progress() {
    if (percent_ >= 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(what_.size()) + 6, "");
}

}  // namespace mixtura::cli
