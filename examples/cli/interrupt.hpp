// Ctrl-C: ends what runs (an answer), or gives up the line that is typed; never the program at once.
#pragma once

namespace mixtura::cli {

// Installs the handler.  `cancel` runs inside it, so it may only do what a signal handler may.
void on_interrupt(void (*cancel)(void*), void* user_data);

// True once since the last interrupt.
bool take_interrupt();

}  // namespace mixtura::cli
