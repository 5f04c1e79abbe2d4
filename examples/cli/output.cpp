#include "cli/output.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mixtura::cli {
namespace {

void write_line(std::FILE* stream, std::string_view prefix, std::string_view sentence) {
    std::string line(prefix);
    line += sentence;
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stream);
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_now(std::string_view text) {
    print(text);
    std::fflush(stdout);
}

int finish(int exit_code) {
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (is_written || exit_code != kExitOk) return exit_code;
    return complain("the output could not be written");
}

int complain(std::string_view sentence) {
    write_line(stderr, "mixtura: ", sentence);
    return kExitFailure;
}

int complain(const Status& status) { return complain(status.message()); }

void warn(std::string_view sentence) { write_line(stderr, "mixtura: warning: ", sentence); }

bool wants_colour() {
    // no-color.org: any value but the empty one turns colour off.
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
}

std::string bold(std::string_view text) {
    static const bool is_coloured = wants_colour();
    return is_coloured ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

}  // namespace mixtura::cli
