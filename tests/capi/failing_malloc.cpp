// Definitions in the executable win over glibc's for every library in the process; glibc's own stay reachable by their
// __libc_ names.
#include "capi/failing_malloc.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}

namespace {

std::atomic<std::int64_t> counted{0}, failing_at{0}, held{0};
std::atomic<bool> goes_on{false};

bool fails() noexcept {
    const std::int64_t at = failing_at.load(std::memory_order_relaxed);
    const std::int64_t n = counted.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool now = at > 0 && (n == at || (goes_on.load(std::memory_order_relaxed) && n > at));
    if (now) errno = ENOMEM;
    return now;
}

void* hold(void* block) noexcept {
    if (block != nullptr) held.fetch_add(1, std::memory_order_relaxed);
    return block;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return fails() ? nullptr : hold(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return fails() ? nullptr : hold(__libc_calloc(count, bytes)); }
void* realloc(void* block, std::size_t bytes) {
    if (fails()) return nullptr;
    void* moved = __libc_realloc(block, bytes);
    if (block == nullptr) hold(moved);
    if (block != nullptr && moved == nullptr && bytes == 0) held.fetch_sub(1, std::memory_order_relaxed);
    return moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    return fails() ? nullptr : hold(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
    void* block = memalign(alignment, bytes);
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
}
void free(void* block) {
    if (block != nullptr) held.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(block);
}

}  // extern "C"

namespace mixtura::capi_test {

void fail_allocation(std::int64_t n, Failing how) noexcept {
    failing_at = 0;
    goes_on = how == Failing::from_then_on;
    counted = 0;
    failing_at = n;
}
std::int64_t allocations_counted() noexcept { return counted; }
std::int64_t blocks_held() noexcept { return held; }

}  // namespace mixtura::capi_test
