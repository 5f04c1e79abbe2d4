#include "cli/line_editor.hpp"

#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>

namespace mixtura::cli {

struct LineEditor::Terminal {
    EditLine* editor = nullptr;
    History* history = nullptr;
    std::string prompt;

    static const char* prompt_of(EditLine* editor) {
        void* self = nullptr;
        el_get(editor, EL_CLIENTDATA, &self);
        return static_cast<Terminal*>(self)->prompt.c_str();
    }
};

LineEditor::LineEditor() {
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return;
    // libedit asks the locale which bytes make a character; numbers are never read or printed through it here.
    std::setlocale(LC_CTYPE, "");
    auto terminal = std::make_unique<Terminal>();
    terminal->editor = el_init("mixtura", stdin, stdout, stderr);
    if (terminal->editor == nullptr) return;
    terminal->history = history_init();
    HistEvent event;
    history(terminal->history, &event, H_SETSIZE, 1000);
    el_set(terminal->editor, EL_CLIENTDATA, terminal.get());
    el_set(terminal->editor, EL_PROMPT, &Terminal::prompt_of);
    el_set(terminal->editor, EL_EDITOR, "emacs");
    el_set(terminal->editor, EL_HIST, history, terminal->history);
    terminal_ = std::move(terminal);
}

LineEditor::~LineEditor() {
    if (!terminal_) return;
    history_end(terminal_->history);
    el_end(terminal_->editor);
}

bool LineEditor::is_terminal() const { return terminal_ != nullptr; }

LineEditor::Line LineEditor::read(const std::string& prompt) {
    Line line;
    if (!terminal_) {
        int byte = 0;
        while ((byte = std::getchar()) != EOF && byte != '\n') line.text += static_cast<char>(byte);
        if (byte == EOF && line.text.empty()) line.end = End::input_ended;
        return line;
    }
    terminal_->prompt = prompt;
    int count = 0;
    errno = 0;
    const char* text = el_gets(terminal_->editor, &count);
    if (text == nullptr || count <= 0) {
        line.end = errno == EINTR ? End::interrupted : End::input_ended;
        if (line.end == End::interrupted) el_reset(terminal_->editor);
        return line;
    }
    line.text.assign(text, static_cast<std::size_t>(count));
    while (!line.text.empty() && (line.text.back() == '\n' || line.text.back() == '\r')) line.text.pop_back();
    HistEvent event;
    if (!line.text.empty()) history(terminal_->history, &event, H_ENTER, line.text.c_str());
    return line;
}

}  // namespace mixtura::cli
