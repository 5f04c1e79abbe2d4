// Reading and writing the rows of a KVCache: no block changes hands here.
#include <mixtura/kv_cache.hpp>

#include "base/error.hpp"
#include "cache/state.hpp"
#include "kernels/cache_row.hpp"
#include "parallel/fp_environment.hpp"

namespace mixtura {
namespace {

// The rows that one call reads or writes, within one plane of one sequence.
struct Rows {
    const BlockTable* table = nullptr;
    const KVPlaneView* plane = nullptr;
    std::size_t group = 0;
    std::int64_t count = 0;
};

Result<Rows> rows_of(const KVCache::State& state, SequenceId id, std::size_t layer, std::size_t plane,
                     std::int64_t first, std::size_t elements) {
    MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state.slot_of(id));
    MIXTURA_RETURN_IF_ERROR(state.check_plane(layer, plane));
    const Sequence& sequence = state.slots[slot];
    const std::size_t group = state.description.layers[layer].group;
    Rows rows{&sequence.tables[group], &state.layout.planes[layer][plane], group, 0};
    const auto width = static_cast<std::size_t>(rows.plane->heads * rows.plane->size);
    if (elements % width != 0) {
        return error(StatusCode::invalid_argument, elements, " elements are given for plane ", plane, " of layer ",
                     layer, ", expected a multiple of ", width);
    }
    rows.count = static_cast<std::int64_t>(elements / width);
    const std::int64_t kept = rows.table->first_block * kKVBlockTokens, length = state.rows_in(sequence, group);
    if (first < kept || first > length || rows.count > length - first) {
        return error(StatusCode::out_of_range, rows.count, " rows from position ", first, " of layer ", layer,
                     " are named, but the sequence keeps positions ", kept, " to ", length, " (exclusive)");
    }
    return rows;
}

// visit(where the row is stored, index of its first element in the rows) for every head's row.
template <class Visit>
void for_each_row(const KVCache::State& state, const Rows& rows, std::int64_t first, const Visit& visit) {
    const KVPlaneView& plane = *rows.plane;
    std::size_t element = 0;
    for (std::int64_t position = first; position < first + rows.count; ++position) {
        const BlockId block = rows.table->ids[static_cast<std::size_t>(position / kKVBlockTokens)];
        std::byte* stored = state.pool.data(rows.group, block) + plane.offset_bytes +
                            static_cast<std::size_t>(position % kKVBlockTokens) * plane.row_stride_bytes;
        for (std::int64_t head = 0; head < plane.heads; ++head) {
            visit(stored, element);
            stored += plane.head_stride_bytes;
            element += static_cast<std::size_t>(plane.size);
        }
    }
}

}  // namespace

Status KVCache::write(SequenceId sequence, std::size_t layer, std::size_t plane, std::int64_t first,
                      std::span<const float> rows) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const Rows found, rows_of(*state_, sequence, layer, plane, first, rows.size()));
        if (found.count == 0) return {};
        const std::int64_t last_block = (first + found.count - 1) / kKVBlockTokens;
        for (std::int64_t block = first / kKVBlockTokens; block <= last_block; ++block) {
            const BlockId id = found.table->ids[static_cast<std::size_t>(block)];
            if (state_->pool.references(found.group, id) == 1) continue;
            return error(StatusCode::bad_state, "positions ", block * kKVBlockTokens, " to ",
                         (block + 1) * kKVBlockTokens - 1, " are shared with a fork and cannot be written");
        }
        const FpEnvironment environment;  // f16 rounds by the host's mode on processors that do it in one instruction
        for_each_row(*state_, found, first, [&](std::byte* stored, std::size_t element) {
            state_->kernels->store_row(found.plane->dtype, rows.data() + element, found.plane->size, stored);
        });
        return {};
    });
}

Status KVCache::read(SequenceId sequence, std::size_t layer, std::size_t plane, std::int64_t first,
                     std::span<float> rows) const noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const Rows found, rows_of(*state_, sequence, layer, plane, first, rows.size()));
        const FpEnvironment environment;  // narrow elements are products
        for_each_row(*state_, found, first, [&](const std::byte* stored, std::size_t element) {
            load_cache_row(found.plane->dtype, stored, 0, found.plane->size, rows.data() + element);
        });
        return {};
    });
}

Result<KVView> KVCache::view(SequenceId sequence, std::size_t layer) const noexcept {
    return without_exceptions([&]() -> Result<KVView> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        MIXTURA_RETURN_IF_ERROR(state_->check_plane(layer, 0));
        const Sequence& found = state_->slots[slot];
        const std::size_t group = state_->description.layers[layer].group;
        const BlockTable& table = found.tables[group];
        return KVView{state_->pool.base(group),
                      state_->layout.groups[group].block_bytes,
                      table.ids,
                      table.first_block,
                      state_->rows_in(found, group),
                      state_->layout.planes[layer]};
    });
}

}  // namespace mixtura
