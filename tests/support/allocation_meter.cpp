#include "support/allocation_meter.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::size_t> held{0}, peak{0};

// The size stands in front of each block, which costs one alignment's worth of room.
void* take(std::size_t bytes, std::size_t alignment) {
    const std::size_t room = std::max(alignment, alignof(std::max_align_t));
    if (bytes > SIZE_MAX - 2 * room) throw std::bad_alloc();
    void* block = std::aligned_alloc(room, (bytes + room + room - 1) / room * room);
    if (block == nullptr) throw std::bad_alloc();
    char* out = static_cast<char*>(block) + room;
    std::memcpy(out - sizeof bytes, &bytes, sizeof bytes);
    const std::size_t now = held += bytes;
    for (std::size_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
    }
    return out;
}

void give(void* pointer, std::size_t alignment) noexcept {
    if (pointer == nullptr) return;
    const std::size_t room = std::max(alignment, alignof(std::max_align_t));
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<char*>(pointer) - sizeof bytes, sizeof bytes);
    held -= bytes;
    std::free(static_cast<char*>(pointer) - room);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes, 1); }
void* operator new[](std::size_t bytes) { return take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { give(pointer, 1); }
void operator delete[](void* pointer) noexcept { give(pointer, 1); }
void operator delete(void* pointer, std::size_t) noexcept { give(pointer, 1); }
void operator delete[](void* pointer, std::size_t) noexcept { give(pointer, 1); }
void operator delete(void* pointer, std::align_val_t alignment) noexcept {
    give(pointer, static_cast<std::size_t>(alignment));
}
void operator delete[](void* pointer, std::align_val_t alignment) noexcept {
    give(pointer, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer, std::size_t, std::align_val_t alignment) noexcept {
    give(pointer, static_cast<std::size_t>(alignment));
}
void operator delete[](void* pointer, std::size_t, std::align_val_t alignment) noexcept {
    give(pointer, static_cast<std::size_t>(alignment));
}

namespace mixtura::test {

AllocationMeter::AllocationMeter() noexcept : start_bytes_(held) { peak = start_bytes_; }
std::size_t AllocationMeter::peak_bytes() const noexcept { return peak - start_bytes_; }
std::ptrdiff_t AllocationMeter::held_bytes() const noexcept {
    return static_cast<std::ptrdiff_t>(held) - static_cast<std::ptrdiff_t>(start_bytes_);
}

}  // namespace mixtura::test
