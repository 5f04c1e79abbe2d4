#include <mixtura/op_times.hpp>

#include <numeric>

namespace mixtura {

std::string_view op_name(Op op) noexcept {
    constexpr std::string_view kNames[kOpCount] = {"embedding", "norm",   "projection", "rotation", "cache",
                                                   "attention", "output", "dense",      "router",   "experts",
                                                   "residual",  "check",  "head"};
    return kNames[static_cast<std::size_t>(op)];
}

double OpTimes::total_seconds() const noexcept { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

}  // namespace mixtura
