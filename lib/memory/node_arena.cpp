#include "memory/node_arena.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <optional>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "memory/aligned_buffer.hpp"

namespace mixtura {

bool place_on_node([[maybe_unused]] std::span<std::byte> memory, [[maybe_unused]] int node) noexcept {
#if defined(SYS_mbind)
    constexpr int kPreferred = 1;      // MPOL_PREFERRED of <linux/mempolicy.h>
    constexpr int kNodeIdsMax = 1024;  // what the kernel can be built for
    constexpr int kWordBits = sizeof(unsigned long) * CHAR_BIT;
    if (node < 0 || node >= kNodeIdsMax) return false;
    unsigned long mask[kNodeIdsMax / kWordBits] = {};
    mask[node / kWordBits] = 1UL << (node % kWordBits);
    // The kernel takes one bit less than it is told.
    return ::syscall(SYS_mbind, memory.data(), memory.size(), kPreferred, mask, kNodeIdsMax + 1UL, 0U) == 0;
#else
    return false;
#endif
}

Result<NodeArena> NodeArena::allocate(std::span<const Stretch> stretches, const PlaceMemory& place) {
    const std::size_t page = page_bytes();
    NodeArena arena;
    std::vector<std::size_t> sizes;  // in whole pages
    std::optional<std::uint64_t> end = 0;
    bool has_huge = false;
    for (const Stretch& stretch : stretches) {
        const bool is_huge = stretch.size_bytes >= kHugeFromBytes;
        has_huge = has_huge || is_huge;
        const auto begin = checked_align_up<std::uint64_t>(*end, is_huge ? kHugePageBytes : page);
        const auto size = checked_align_up<std::uint64_t>(stretch.size_bytes, page);
        end = begin && size ? checked_add(*begin, *size) : std::nullopt;
        if (!end) return error(StatusCode::out_of_host_memory, "an arena of more than 2^64 bytes is asked for");
        arena.begins_.push_back(*begin);
        sizes.push_back(*size);
    }
    const auto reserved = checked_add<std::uint64_t>(*end, has_huge ? kHugePageBytes : 0);
    if (!reserved) return error(StatusCode::out_of_host_memory, "an arena of more than 2^64 bytes is asked for");
    MIXTURA_ASSIGN_OR_RETURN(arena.range_, AddressRange::reserve(*reserved));
    // begins_ are from a huge page's start; the range may begin anywhere in front of one.
    const auto address = reinterpret_cast<std::uintptr_t>(arena.range_.base());
    const std::size_t lead = has_huge ? (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes : 0;
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        arena.begins_[i] += lead;
        if (sizes[i] > 0 && !arena.range_.make_usable(arena.begins_[i], sizes[i]))
            return error(StatusCode::out_of_host_memory, "there is no memory for ", sizes[i], " bytes");
        const std::span<std::byte> memory(arena.begin_of(i), sizes[i]);
        arena.is_placed_.push_back(memory.empty() || place(memory, stretches[i].node));
        if (stretches[i].size_bytes >= kHugeFromBytes) advise_huge_pages(memory.data(), memory.size());
    }
    return arena;
}

}  // namespace mixtura
