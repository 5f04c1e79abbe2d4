// What the operating system says about an errno, without strerror's shared buffer.
#pragma once

#include <string>

namespace mixtura {

std::string system_error_text(int number);

}  // namespace mixtura
