#include "weights/placed_memory.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace mixtura {
namespace {

// What is asked for one behind another (an expert's gate, up and down; a layer) lies so in memory.
constexpr std::uint64_t kArenaBytes = 256 << 20;
// Gate and up are multiplied by pairs of panels: 32 rows are a block of the product that follows.
constexpr std::int64_t kGranulePanels = 2;

// No weight has as many bytes as this, so that sums of one arena's stay numbers.
constexpr std::uint64_t kExtentBytesMax = std::uint64_t{1} << 62;

std::uint64_t whole_lines(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t kLine = AlignedBuffer::kAlignmentBytes;
    return (bytes + kLine - 1) / kLine * kLine;
}

std::int64_t first_panel_of(const Topology& topology, int node, const Extent& extent) noexcept {
    return topology.share_begin(node, extent.panel_count, kGranulePanels);
}

// [extents, nodes]: bytes of each extent on each node.  What stays whole goes to the node that has least so far.
std::vector<std::uint64_t> cut(std::span<const Extent> extents, const Topology& topology) {
    const int nodes = topology.node_count();
    std::vector<std::uint64_t> cuts, held(static_cast<std::size_t>(nodes));
    cuts.reserve(extents.size() * held.size());
    for (const Extent& extent : extents) {
        const auto emptiest = static_cast<int>(std::min_element(held.begin(), held.end()) - held.begin());
        const auto bytes_before = [&](int node) {
            if (extent.panel_count == 0) return node > emptiest ? extent.size_bytes : 0;
            // The last panel of a matrix that is kept as the file has it may be short.
            const auto panels = static_cast<std::uint64_t>(first_panel_of(topology, node, extent));
            return std::min(panels * static_cast<std::uint64_t>(extent.panel_bytes), extent.size_bytes);
        };
        for (int node = 0; node < nodes; ++node) {
            cuts.push_back(bytes_before(node + 1) - bytes_before(node));
            held[static_cast<std::size_t>(node)] += cuts.back();
        }
    }
    return cuts;
}

}  // namespace

std::vector<std::uint64_t> bytes_of_nodes(std::span<const Extent> extents, const Topology& topology) {
    std::vector<std::uint64_t> bytes(static_cast<std::size_t>(topology.node_count()));
    const std::vector<std::uint64_t> cuts = cut(extents, topology);
    for (std::size_t i = 0; i < cuts.size(); ++i) bytes[i % bytes.size()] += cuts[i];
    return bytes;
}

void pack_rows(const Place& place, DType dtype, const std::byte* file_rows, std::int64_t first_row,
               std::int64_t last_row, std::int64_t columns) noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    const std::int64_t row_bytes = columns / info.block_elements * info.block_bytes;
    for (std::int64_t row = first_row; row < last_row;) {
        const PanelRun run =
            panel_run(place.parts, panel_bytes(dtype, columns), row / kPanelRows, panel_count(last_row));
        const std::int64_t run_end = std::min(last_row, run.last_panel * kPanelRows);
        pack_rows(dtype, file_rows + (row - first_row) * row_bytes, run_end - row, columns,
                  place.data + run.offset_bytes);
        row = run_end;
    }
}

Result<PlacedMemory> PlacedMemory::allocate(std::span<const Extent> extents, const Placement& placement) {
    PlacedMemory memory;
    for (const Extent& extent : extents) {
        if (extent.size_bytes > kExtentBytesMax)
            return error(StatusCode::out_of_host_memory, "there is no memory for ", extent.size_bytes, " bytes");
    }
    const auto nodes = static_cast<std::size_t>(placement.topology.node_count());
    const std::vector<std::uint64_t> cuts = cut(extents, placement.topology);
    memory.places_.reserve(extents.size());
    if (nodes > 1) {
        memory.parts_.reserve(cuts.size());
        memory.node_bytes_.resize(nodes);
    }
    for (std::size_t first = 0; first < extents.size();) {
        std::uint64_t bytes = 0;
        std::size_t last = first;
        for (; last < extents.size(); ++last) {
            const std::uint64_t more = whole_lines(extents[last].size_bytes);
            if (bytes > 0 && bytes + more > kArenaBytes) break;
            bytes += more;
            memory.size_bytes_ += extents[last].size_bytes;
        }
        MIXTURA_RETURN_IF_ERROR(memory.add_arena(extents.subspan(first, last - first),
                                                 std::span(cuts).subspan(first * nodes, (last - first) * nodes),
                                                 placement));
        first = last;
    }
    return memory;
}

Status PlacedMemory::add_arena(std::span<const Extent> extents, std::span<const std::uint64_t> cuts,
                               const Placement& placement) {
    const auto nodes = static_cast<std::size_t>(placement.topology.node_count());
    std::vector<std::uint64_t> sizes(nodes);
    for (std::size_t i = 0; i < cuts.size(); ++i) sizes[i % nodes] += whole_lines(cuts[i]);
    held_bytes_ = std::accumulate(sizes.begin(), sizes.end(), held_bytes_);
    if (nodes == 1) {
        MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::allocate(sizes[0]));
        std::byte* next = buffer.data();
        for (std::size_t i = 0; i < extents.size(); ++i) {
            places_.push_back({next, {}});
            next += whole_lines(cuts[i]);
        }
        buffers_.push_back(std::move(buffer));
        return {};
    }
    std::vector<NodeArena::Stretch> stretches;
    for (std::size_t node = 0; node < nodes; ++node)
        stretches.push_back({placement.topology.nodes()[node].id, sizes[node]});
    MIXTURA_ASSIGN_OR_RETURN(NodeArena arena, NodeArena::allocate(stretches, placement.place));
    std::vector<std::byte*> next;
    for (std::size_t node = 0; node < nodes; ++node) next.push_back(arena.begin_of(node));
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const Extent& extent = extents[i];
        const std::span<const std::uint64_t> own = cuts.subspan(i * nodes, nodes);
        // The part with bytes in it that comes first is where the extent begins.
        std::size_t begin = 0;
        while (begin + 1 < nodes && own[begin] == 0) ++begin;
        std::byte* const data = next[begin];
        const std::size_t first_part = parts_.size();
        for (std::size_t node = 0; node < nodes; ++node) {
            if (extent.panel_count > 0) {
                const std::int64_t panel = first_panel_of(placement.topology, static_cast<int>(node), extent);
                parts_.push_back({panel, next[node] - data - panel * extent.panel_bytes});
            }
            if (arena.is_placed(node)) node_bytes_[node] += own[node];
            next[node] += whole_lines(own[node]);
        }
        places_.push_back({data, std::span(parts_).subspan(first_part)});
    }
    arenas_.push_back(std::move(arena));
    return {};
}

}  // namespace mixtura
