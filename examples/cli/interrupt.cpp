#include "cli/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace mixtura::cli {
namespace {

std::atomic<bool> was_interrupted{false};
void (*cancel_function)(void*) = nullptr;
void* cancel_user_data = nullptr;

void handle(int) {
    was_interrupted.store(true);
    if (cancel_function != nullptr) cancel_function(cancel_user_data);
}

}  // namespace

void on_interrupt(void (*cancel)(void*), void* user_data) {
    cancel_user_data = user_data;
    cancel_function = cancel;
    struct sigaction action {};
    action.sa_handler = handle;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;  // no SA_RESTART: a read at the prompt returns
    sigaction(SIGINT, &action, nullptr);
}

bool take_interrupt() { return was_interrupted.exchange(false); }

}  // namespace mixtura::cli
