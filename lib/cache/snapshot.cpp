// A sequence as bytes.  Version 1, every integer little-endian:
//   0   8 bytes  "MXTKVSEQ"
//   8   u32      version
//   12  u32      bytes of the description
//   16           the description: text that says groups, layers and planes, compared byte by byte
//   ..  i64      length of the sequence
//   ..  i64      length of its source, where a group is of one
//   ..  i64 × G  first kept block of each layer group
//   ..           rows: per group, per kept block, per layer, per plane, per head the block's tokens, stored dtype
//   ..           states of recurrent layers at the length, f32; none where the length is 0
//   ..  u64      checksum of everything before
// Only tokens below the length are written, so the bytes depend on the content alone and tell nothing else.
#include <mixtura/kv_cache.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "cache/state.hpp"

namespace mixtura {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are copied as they lie in memory");

constexpr std::string_view kMagic = "MXTKVSEQ";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFixedBytes = 16;
constexpr std::size_t kChecksumBytes = 8;

std::string description_text(const KVDescription& description) {
    std::string out = text("block ", kKVBlockTokens);
    for (const KVGroup& group : description.groups) {
        out += text("; group window ", group.window_tokens, " chunk ", group.chunk_tokens);
        if (group.is_source) out += " source";
    }
    for (const KVLayer& layer : description.layers) {
        out += text("; layer of ", layer.group);
        for (const KVPlane& plane : layer.planes) {
            out += text(" ", plane.heads, "x", plane.size, dtype_name(plane.dtype));
        }
        if (layer.state_size > 0) out += text(" state ", layer.state_size);
    }
    return out;
}

// Eight bytes at a time, so that gigabytes are checked at memory's speed.  It finds damage, not malice: every step is a
// bijection of the state, so no single changed word goes unseen.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t state = 0x9E3779B97F4A7C15ULL ^ bytes.size();
    const auto mix = [&](std::uint64_t word) {
        state = (state ^ word) * 0xD6E8FEB86659FD93ULL;  // odd, hence invertible
        state ^= state >> 32;
    };
    std::size_t at = 0;
    for (; bytes.size() - at >= 8; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        mix(word);
    }
    std::uint64_t rest = 0;
    if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    mix(rest);
    return state;
}

// Where the parts of a snapshot begin, for a description text of known size.
struct Parts {
    std::size_t length_at, blocks_at, rows_at;
};
Parts parts_of(std::size_t description_bytes, std::size_t groups, bool has_source) noexcept {
    const std::size_t length_at = kFixedBytes + description_bytes, blocks_at = length_at + (has_source ? 16 : 8);
    return {length_at, blocks_at, blocks_at + 8 * groups};
}

struct Lengths {
    std::int64_t tokens = 0, source = 0;
    std::int64_t of(const KVLayout::Group& group) const noexcept { return group.rule.is_source ? source : tokens; }
};

// visit(group, index of the block in the group's table, byte offset in the block, bytes) in file order.
template <class Visit>
void for_each_run(const KVLayout& layout, std::span<const std::int64_t> first_blocks, const Lengths& lengths,
                  const Visit& visit) {
    for (std::size_t group = 0; group < layout.groups.size(); ++group) {
        const std::int64_t length = lengths.of(layout.groups[group]);
        for (std::int64_t block = first_blocks[group]; block < blocks_for_tokens(length); ++block) {
            const std::int64_t tokens = std::min(kKVBlockTokens, length - block * kKVBlockTokens);
            for (const std::size_t layer : layout.groups[group].layers) {
                for (const KVPlaneView& plane : layout.planes[layer]) {
                    for (std::int64_t head = 0; head < plane.heads; ++head) {
                        visit(group, static_cast<std::size_t>(block),
                              plane.offset_bytes + static_cast<std::size_t>(head) * plane.head_stride_bytes,
                              static_cast<std::size_t>(tokens) * plane.row_stride_bytes);
                    }
                }
            }
        }
    }
}

// visit(layer, bytes) for every state in file order.
template <class Visit>
void for_each_state(const KVDescription& description, std::int64_t length, const Visit& visit) {
    for (std::size_t layer = 0; length > 0 && layer < description.layers.size(); ++layer) {
        const auto size = static_cast<std::size_t>(description.layers[layer].state_size);
        if (size > 0) visit(layer, size * sizeof(float));
    }
}

// Bytes of the rows and of the states, or nothing where they leave 64 bits.
std::optional<std::uint64_t> content_bytes(const KVDescription& description, const KVLayout& layout,
                                           std::span<const std::int64_t> first_blocks, const Lengths& lengths) {
    std::uint64_t bytes = 0;
    for_each_state(description, lengths.tokens,
                   [&](std::size_t, std::size_t size) { bytes += size; });  // in a block: < 2^40
    for (std::size_t group = 0; group < layout.groups.size(); ++group) {
        const std::int64_t tokens = lengths.of(layout.groups[group]) - first_blocks[group] * kKVBlockTokens;
        const auto more = checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0)),
                                                          layout.groups[group].token_bytes);
        const auto sum = more ? checked_add(bytes, *more) : std::nullopt;
        if (!sum) return std::nullopt;
        bytes = *sum;
    }
    return bytes;
}

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) noexcept {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <class T>
void store(std::span<std::byte> bytes, std::size_t at, T value) noexcept {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

Status corrupt(std::string_view what) { return error(StatusCode::corrupt_file, "the saved sequence ", what); }

// Everything up to the rows, and that the rows are all there and whole.
struct Header {
    Lengths lengths;
    std::vector<std::int64_t> first_blocks;
    std::size_t rows_at = 0;
};

Status check_start(std::span<const std::byte> bytes, std::string_view ours) {
    if (bytes.size() < kFixedBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
        return error(StatusCode::unknown_format, "these ", bytes.size(), " bytes are no saved sequence");
    }
    if (const auto version = load<std::uint32_t>(bytes, 8); version != kVersion) {
        return error(StatusCode::version_mismatch, "the saved sequence is of version ", version, ", expected ",
                     kVersion);
    }
    const std::size_t size = load<std::uint32_t>(bytes, 12);
    if (size > bytes.size() - kFixedBytes) return corrupt("ends within its description");
    const std::string_view theirs(reinterpret_cast<const char*>(bytes.data()) + kFixedBytes, size);
    if (theirs == ours) return {};
    const auto [their, our] = std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end());
    const auto from = static_cast<std::size_t>(our - ours.begin());
    const std::size_t start = from - std::min<std::size_t>(from, 16);
    return error(StatusCode::invalid_argument, "the saved sequence is of other layers: it says ",
                 quoted(theirs.substr(start), 60), ", expected ", quoted(ours.substr(start), 60));
}

Result<Header> read_header(const KVCache::State& state, std::span<const std::byte> bytes) {
    const std::string ours = description_text(state.description);
    MIXTURA_RETURN_IF_ERROR(check_start(bytes, ours));
    const std::size_t groups = state.layout.groups.size();
    const bool has_source = state.has_source();
    const Parts parts = parts_of(ours.size(), groups, has_source);
    if (bytes.size() < parts.rows_at + kChecksumBytes) return corrupt("ends within its header");
    Header header{{load<std::int64_t>(bytes, parts.length_at)}, {}, parts.rows_at};
    if (has_source) header.lengths.source = load<std::int64_t>(bytes, parts.length_at + 8);
    for (const std::int64_t length : {header.lengths.tokens, header.lengths.source}) {
        if (length < 0) return corrupt(text("has a length of ", length));
        if (length > state.description.tokens_max) {
            return error(StatusCode::out_of_range, "the saved sequence has ", length, " tokens, expected at most ",
                         state.description.tokens_max);
        }
    }
    for (std::size_t group = 0; group < groups; ++group) {
        const auto first = load<std::int64_t>(bytes, parts.blocks_at + 8 * group);
        const std::int64_t visible = first_visible_position(state.layout.groups[group].rule, header.lengths.tokens);
        if (first < 0 || first > visible / kKVBlockTokens) {
            return corrupt(text("begins at block ", first, " in layer group ", group, ", expected 0 to ",
                                visible / kKVBlockTokens));
        }
        header.first_blocks.push_back(first);
    }
    const auto rows = content_bytes(state.description, state.layout, header.first_blocks, header.lengths);
    const std::uint64_t found = bytes.size() - parts.rows_at - kChecksumBytes;
    if (!rows || *rows != found) {
        return corrupt(text("has ", found, " bytes of rows, expected ", rows.value_or(0)));
    }
    const std::size_t checked = bytes.size() - kChecksumBytes;
    if (checksum(bytes.first(checked)) != load<std::uint64_t>(bytes, checked)) {
        return corrupt("is damaged: its checksum differs");
    }
    return header;
}

}  // namespace

Result<std::vector<std::byte>> KVCache::export_sequence(SequenceId sequence) const noexcept {
    return without_exceptions([&]() -> Result<std::vector<std::byte>> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        const Sequence& found = state_->slots[slot];
        const std::string description = description_text(state_->description);
        std::vector<std::int64_t> first_blocks;
        for (const BlockTable& table : found.tables) first_blocks.push_back(table.first_block);
        const bool has_source = state_->has_source();
        const Parts parts = parts_of(description.size(), first_blocks.size(), has_source);
        const Lengths lengths{found.length, found.source_length};
        const std::uint64_t rows =
            *content_bytes(state_->description, state_->layout, first_blocks, lengths);  // they are in memory
        std::vector<std::byte> bytes(parts.rows_at + static_cast<std::size_t>(rows) + kChecksumBytes);

        std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
        store(bytes, 8, kVersion);
        store(bytes, 12, static_cast<std::uint32_t>(description.size()));
        std::memcpy(bytes.data() + kFixedBytes, description.data(), description.size());
        store(bytes, parts.length_at, found.length);
        if (has_source) store(bytes, parts.length_at + 8, found.source_length);
        for (std::size_t group = 0; group < first_blocks.size(); ++group) {
            store(bytes, parts.blocks_at + 8 * group, first_blocks[group]);
        }
        std::byte* out = bytes.data() + parts.rows_at;
        for_each_run(state_->layout, first_blocks, lengths,
                     [&](std::size_t group, std::size_t block, std::size_t at, std::size_t size) {
                         std::memcpy(out, state_->pool.data(group, found.tables[group].ids[block]) + at, size);
                         out += size;
                     });
        for_each_state(state_->description, found.length, [&](std::size_t layer, std::size_t size) {
            std::memcpy(out, state_->state_data(found.now, layer), size);
            out += size;
        });
        const std::size_t checked = bytes.size() - kChecksumBytes;
        store(bytes, checked, checksum(std::span(bytes).first(checked)));
        return bytes;
    });
}

Result<SequenceId> KVCache::import_sequence(std::span<const std::byte> bytes) noexcept {
    return without_exceptions([&]() -> Result<SequenceId> {
        MIXTURA_ASSIGN_OR_RETURN(const Header header, read_header(*state_, bytes));
        const SequenceId id = state_->add(header.first_blocks);
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(id));
        Sequence& added = state_->slots[slot];
        const Status appended = without_exceptions([&]() -> Status {
            MIXTURA_RETURN_IF_ERROR(state_->append(added, header.lengths.tokens));
            return header.lengths.source > 0 ? state_->append_source(added, header.lengths.source) : Status();
        });
        if (!appended.is_ok()) {
            state_->remove(added);
            return appended;
        }
        const std::byte* in = bytes.data() + header.rows_at;
        for_each_run(state_->layout, header.first_blocks, header.lengths,
                     [&](std::size_t group, std::size_t block, std::size_t at, std::size_t size) {
                         std::memcpy(state_->pool.data(group, added.tables[group].ids[block]) + at, in, size);
                         in += size;
                     });
        for_each_state(state_->description, header.lengths.tokens, [&](std::size_t layer, std::size_t size) {
            std::memcpy(state_->state_data(added.now, layer), in, size);
            in += size;
        });
        return id;
    });
}

}  // namespace mixtura
