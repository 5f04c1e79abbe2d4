// Memory with a stretch on each NUMA node.  The kernel is told where a stretch belongs before anyone touches it; after
// that it does not matter which thread writes to it first.  One run of addresses, so that what is cut over the
// stretches can be found by offsets.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memory/address_range.hpp"

namespace mixtura {

// Says that pages of `memory`, none of them touched, are to be taken from the node of that number; whether the system
// agreed.
using PlaceMemory = std::function<bool(std::span<std::byte> memory, int node)>;

// By mbind(2).  MPOL_PREFERRED: where the node has nothing left its pages come from another one, and reading them is
// slower; MPOL_BIND would have the kernel kill the host instead.  False on systems without NUMA, in containers that may
// not choose (EPERM, ENOSYS), and for a node that is not there (EINVAL).
bool place_on_node(std::span<std::byte> memory, int node) noexcept;

class NodeArena {
  public:
    struct Stretch {
        int node = 0;  // the kernel's number
        std::uint64_t size_bytes = 0;
    };

    // OUT_OF_HOST_MEMORY.  A stretch that `place` refuses lies wherever the system puts it.
    static Result<NodeArena> allocate(std::span<const Stretch> stretches, const PlaceMemory& place);

    // The first byte of a stretch: on a page, on a huge one where the stretch is worth it.
    std::byte* begin_of(std::size_t stretch) const noexcept { return range_.base() + begins_[stretch]; }
    bool is_placed(std::size_t stretch) const noexcept { return is_placed_[stretch]; }

  private:
    AddressRange range_;
    std::vector<std::size_t> begins_;  // from the base
    std::vector<bool> is_placed_;
};

}  // namespace mixtura
