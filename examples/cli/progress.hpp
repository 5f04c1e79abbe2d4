// A percentage on stderr while something takes its time: on a terminal only, and gone when it is done.
#pragma once

#include <cstdint>
#include <string>

namespace mixtura::cli {

class Progress {
  public:
    // `what`: "Loading".
    Progress(std::string what, std::int64_t total);
    void show(std::int64_t done) const;
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

  private:
    std::string what_;
    std::int64_t total_;
    bool is_shown_;
    mutable int percent_ = -1;
};

}  // namespace mixtura::cli
