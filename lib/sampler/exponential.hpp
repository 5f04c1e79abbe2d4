// The sampler's only calls of exp and log, so that what they are is said once.
#pragma once

#include <cmath>
#include <cstddef>

namespace mixtura {

// out[i] = e^x[i]; exactly 1 at 0 and 0 at -inf.  x and out may be the same.
inline void exponentials(const float* x, float* out, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::exp(x[i]);
}

inline double logarithm(double x) noexcept { return std::log(x); }

}  // namespace mixtura
