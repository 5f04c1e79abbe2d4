// Memory for a list of weights, each matrix' panels cut over the NUMA nodes: README.md.  WeightStore and ExpertPool
// take theirs from here.  With one node it is plain buffers, and nothing is cut.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/layout.hpp"
#include "memory/aligned_buffer.hpp"
#include "memory/node_arena.hpp"
#include "parallel/topology.hpp"

namespace mixtura {

struct Placement {
    Topology topology = {};
    PlaceMemory place = place_on_node;
};

// Something that wants memory.
struct Extent {
    std::uint64_t size_bytes = 0;
    std::int64_t panel_count = 0;  // 0: it stays in one piece
    std::int64_t panel_bytes = 0;
};
// Where it got it, as in PackedMatrix.
struct Place {
    std::byte* data = nullptr;
    std::span<const PanelPart> parts = {};
};

// Bytes that each node of the topology gets of the extents in this order; they add up to the extents' own.
std::vector<std::uint64_t> bytes_of_nodes(std::span<const Extent> extents, const Topology& topology);

// Rows [first_row, last_row) of a matrix, as pack_rows() takes them, into its place.  first_row is a panel's first, and
// last_row another's, or the matrix' end.
void pack_rows(const Place& place, DType dtype, const std::byte* file_rows, std::int64_t first_row,
               std::int64_t last_row, std::int64_t columns) noexcept;

class PlacedMemory {
  public:
    // Extents follow one another in memory, each part on a cache line.  OUT_OF_HOST_MEMORY.
    static Result<PlacedMemory> allocate(std::span<const Extent> extents, const Placement& placement);

    Place operator[](std::size_t extent) const noexcept { return places_[extent]; }

    // The extents' bytes, and with room to begin each on a cache line.
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::uint64_t held_bytes() const noexcept { return held_bytes_; }
    // Of them, those for which the system agreed to take memory from this node of the topology.  Empty: one node.
    std::span<const std::uint64_t> node_bytes() const noexcept { return node_bytes_; }

  private:
    Status add_arena(std::span<const Extent> extents, std::span<const std::uint64_t> cuts, const Placement& placement);

    std::vector<AlignedBuffer> buffers_;  // one node
    std::vector<NodeArena> arenas_;       // several
    std::vector<Place> places_;
    std::vector<PanelPart> parts_;  // [extents, nodes]; never grows, since places point into it
    std::vector<std::uint64_t> node_bytes_;
    std::uint64_t size_bytes_ = 0, held_bytes_ = 0;
};

}  // namespace mixtura
