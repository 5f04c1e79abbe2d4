#include "cache/layout.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/cache_row.hpp"
#include "memory/address_range.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kAlignmentBytes = 64;                       // a cache line, and the widest vector
constexpr std::uint64_t kBlockBytesMax = std::uint64_t{1} << 40;  // no machine's block; keeps sums of them in 64 bits
constexpr std::size_t kLayersMax = 65'536;
constexpr std::size_t kPlanesMax = 8;

Status check_plane(const KVPlane& plane, std::size_t layer, std::size_t index) {
    if (plane.heads < 1 || plane.size < 1) {
        return error(StatusCode::invalid_argument, "plane ", index, " of layer ", layer, " is ", plane.heads,
                     " heads of ", plane.size, " elements, expected at least 1 of each");
    }
    if (!is_cache_dtype(plane.dtype)) {
        return error(StatusCode::invalid_argument, "plane ", index, " of layer ", layer, " is of dtype ",
                     dtype_name(plane.dtype), ", expected f32, f16, bf16, q8_0 or f8_e4m3");
    }
    return {};
}

// Sets where the plane lies and moves `used` behind it; false where a block would grow too large.
bool place(const KVPlane& plane, std::uint64_t& used, KVPlaneView& view) {
    if (static_cast<std::uint64_t>(plane.size) > kBlockBytesMax) return false;
    const auto row = static_cast<std::uint64_t>(cache_row_bytes(plane.dtype, plane.size));
    const std::uint64_t head = row * static_cast<std::uint64_t>(kKVBlockTokens);  // below 2^48
    const auto bytes = checked_multiply(head, static_cast<std::uint64_t>(plane.heads));
    const auto end = bytes ? checked_add(used, *bytes) : std::nullopt;
    const auto aligned = end ? checked_align_up(*end, std::uint64_t{kAlignmentBytes}) : std::nullopt;
    if (!aligned || *aligned > kBlockBytesMax) return false;
    view = {static_cast<std::size_t>(used),
            static_cast<std::size_t>(head),
            static_cast<std::size_t>(row),
            plane.heads,
            plane.size,
            plane.dtype};
    used = *aligned;
    return true;
}

// Sets where the layer's state lies in a block of states.
Status place_state(KVLayout& layout, std::size_t layer, std::int64_t size) {
    if (size < 0) {
        return error(StatusCode::invalid_argument, "the state of layer ", layer, " has ", size,
                     " elements, expected 0 or more");
    }
    layout.state_offsets.push_back(layout.state_block_bytes);
    const auto bytes = checked_multiply(static_cast<std::uint64_t>(size), std::uint64_t{sizeof(float)});
    const auto end = bytes ? checked_add(std::uint64_t{layout.state_block_bytes}, *bytes) : std::nullopt;
    const auto aligned = end ? checked_align_up(*end, std::uint64_t{kAlignmentBytes}) : std::nullopt;
    if (!aligned || *aligned > kBlockBytesMax) {
        return error(StatusCode::invalid_argument, "a block of states exceeds ", kBlockBytesMax, " bytes at layer ",
                     layer);
    }
    layout.state_block_bytes = static_cast<std::size_t>(*aligned);
    return {};
}

Status check_limits(const KVDescription& description) {
    if (description.layers.empty() || description.layers.size() > kLayersMax) {
        return error(StatusCode::invalid_argument, "the cache has ", description.layers.size(),
                     " layers, expected 1 to ", kLayersMax);
    }
    if (description.groups.empty() || description.groups.size() > description.layers.size()) {
        return error(StatusCode::invalid_argument, "the cache has ", description.groups.size(),
                     " layer groups, expected 1 to ", description.layers.size(), ", the number of layers");
    }
    for (std::size_t group = 0; group < description.groups.size(); ++group) {
        const auto& [window, chunk, is_source] = description.groups[group];
        if (is_source && (window != 0 || chunk != 0)) {
            return error(StatusCode::invalid_argument, "layer group ", group, " is of a source and has a window of ",
                         window, " tokens and chunks of ", chunk, ", expected neither");
        }
        if (window < 0 || chunk < 0 || (window > 0 && chunk > 0)) {
            return error(StatusCode::invalid_argument, "layer group ", group, " has a window of ", window,
                         " tokens and chunks of ", chunk, ", expected neither below 0 and one of them 0");
        }
    }
    if (description.snapshots_max < 0) {
        return error(StatusCode::invalid_argument, "snapshots_max is ", description.snapshots_max,
                     ", expected 0 or more");
    }
    constexpr std::int64_t kTokensMax = 2'147'483'647;  // positions are i32 in every kernel
    if (description.tokens_max < 1 || description.tokens_max > kTokensMax) {
        return error(StatusCode::invalid_argument, "tokens_max is ", description.tokens_max, ", expected 1 to ",
                     kTokensMax);
    }
    return {};
}

}  // namespace

KVDescription KVDescription::uniform(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_size, DType dtype) {
    const KVPlane plane{kv_heads, head_size, dtype};
    KVDescription description;
    description.layers.assign(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)), KVLayer{{plane, plane}, 0});
    return description;
}

Result<KVLayout> KVLayout::create(const KVDescription& description) {
    MIXTURA_RETURN_IF_ERROR(check_limits(description));
    KVLayout layout;
    layout.planes.resize(description.layers.size());
    for (const KVGroup& rule : description.groups) layout.groups.push_back({rule, 0, 0, {}});
    for (std::size_t layer = 0; layer < description.layers.size(); ++layer) {
        const auto& [planes, group_index, state_size] = description.layers[layer];
        MIXTURA_RETURN_IF_ERROR(place_state(layout, layer, state_size));
        if (group_index >= layout.groups.size()) {
            return error(StatusCode::invalid_argument, "layer ", layer, " is in group ", group_index,
                         ", expected one below ", layout.groups.size());
        }
        if (planes.size() > kPlanesMax) {
            return error(StatusCode::invalid_argument, "layer ", layer, " has ", planes.size(),
                         " planes, expected at most ", kPlanesMax);
        }
        Group& group = layout.groups[group_index];
        group.layers.push_back(layer);
        for (std::size_t plane = 0; plane < planes.size(); ++plane) {
            MIXTURA_RETURN_IF_ERROR(check_plane(planes[plane], layer, plane));
            std::uint64_t used = group.block_bytes;
            KVPlaneView view;
            if (!place(planes[plane], used, view)) {
                return error(StatusCode::invalid_argument, "a block of layer group ", group_index, " exceeds ",
                             kBlockBytesMax, " bytes at plane ", plane, " of layer ", layer);
            }
            group.block_bytes = static_cast<std::size_t>(used);
            group.token_bytes += view.row_stride_bytes * static_cast<std::size_t>(view.heads);
            layout.planes[layer].push_back(view);
        }
    }
    // A block is whole pages, so that one can be given back to the system without its neighbours.
    const auto whole_pages = [](std::size_t bytes) { return *checked_align_up(bytes, page_bytes()); };
    for (Group& group : layout.groups) group.block_bytes = whole_pages(group.block_bytes);
    layout.state_block_bytes = whole_pages(layout.state_block_bytes);
    return layout;
}

std::int64_t first_visible_position(const KVGroup& rule, std::int64_t position) noexcept {
    if (rule.window_tokens > 0) return std::max<std::int64_t>(0, position - rule.window_tokens + 1);
    if (rule.chunk_tokens > 0) return position - position % rule.chunk_tokens;
    return 0;
}

}  // namespace mixtura
