// Lines from the user: edited and remembered (libedit) on a terminal, read as they are from a pipe.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace mixtura::cli {

class LineEditor {
  public:
    LineEditor();
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    bool is_terminal() const;

    enum class End { none, input_ended, interrupted };
    struct Line {
        std::string text;  // without its newline
        End end = End::none;
    };
    // Waits for a line; `prompt` is shown on a terminal.  An interrupt (Ctrl-C) gives up the line.
    Line read(const std::string& prompt);

  private:
    struct Terminal;
    std::unique_ptr<Terminal> terminal_;
};

}  // namespace mixtura::cli
