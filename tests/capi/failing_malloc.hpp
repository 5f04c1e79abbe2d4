// This process' malloc, made to fail: it counts what is allocated and held, and refuses the n-th allocation on demand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixtura::capi_test {

enum class Failing { once, from_then_on };

// From now on the `n`-th allocation (the first is 1) fails, or it and all that follow; 0: none.
void fail_allocation(std::int64_t n, Failing how) noexcept;
// Allocations since then, by any thread.
std::int64_t allocations_counted() noexcept;
// Blocks that are allocated and not yet freed.
std::int64_t blocks_held() noexcept;

}  // namespace mixtura::capi_test
