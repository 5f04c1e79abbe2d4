// What the program writes and where: results on stdout, complaints on stderr in one sentence, colour only on a terminal
// that wants it.
#pragma once

#include <mixtura/status.hpp>

#include <string_view>

namespace mixtura::cli {

// Exit codes of every command.
constexpr int kExitOk = 0, kExitFailure = 1, kExitUsage = 2, kExitInterrupted = 130;

// Appends to stdout.
void print(std::string_view text);

// The same, on its way at once: for answers that stream.
void print_now(std::string_view text);

// Ends stdout.  Every command returns through here: a disk that is full or a pipe that is gone turns success into
// failure.
int finish(int exit_code);

// "mixtura: <sentence>" on stderr; returns kExitFailure.
int complain(std::string_view sentence);
int complain(const Status& status);

// A warning on stderr, which changes no exit code.
void warn(std::string_view sentence);

// Stdout is a terminal, and neither NO_COLOR nor TERM=dumb says otherwise.
bool wants_colour();

// `text` in bold where wants_colour().
std::string bold(std::string_view text);

}  // namespace mixtura::cli
