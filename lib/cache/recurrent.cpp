// The states of recurrent layers in a KVCache: one block a moment, never written again once the next append came.
#include <mixtura/kv_cache.hpp>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "cache/reserve_more.hpp"
#include "cache/state.hpp"

namespace mixtura {

void KVCache::State::hold(const StateMark& mark) noexcept {
    if (mark.block >= 0) pool.retain(state_group(), mark.block);
}
void KVCache::State::let_go(const StateMark& mark) noexcept {
    if (mark.block >= 0) pool.release(state_group(), mark.block);
}

Status KVCache::State::check_state(std::size_t layer) const {
    if (layer >= description.layers.size()) {
        return error(StatusCode::invalid_argument, "layer ", layer, " is named, expected one below ",
                     description.layers.size());
    }
    if (description.layers[layer].state_size > 0) return {};
    return error(StatusCode::invalid_argument, "the state of layer ", layer, " is named, but it has none");
}

bool KVCache::State::needs_state_block(const Sequence& sequence) const noexcept {
    if (!has_states()) return false;
    const BlockId old = sequence.before_append.block;
    return old < 0 || pool.references(state_group(), old) > 1;
}

void KVCache::State::advance_states(Sequence& sequence, std::int64_t length, BlockId block) noexcept {
    if (!has_states()) return;
    if (block < 0)
        block = sequence.before_append.block;
    else
        let_go(sequence.before_append);
    sequence.before_append = sequence.now;
    sequence.now = {length, block};
}

StateMark KVCache::State::state_mark(const Sequence& sequence, std::int64_t length) const noexcept {
    if (!has_states()) return {length, -1};
    StateMark best{0, -1};
    const auto consider = [&](const StateMark& mark) {
        if (mark.length <= length && mark.length > best.length) best = mark;
    };
    consider(sequence.now);
    consider(sequence.before_append);
    for (const StateMark& mark : sequence.snapshots) consider(mark);
    return best;
}

void KVCache::State::restore_states(Sequence& sequence, std::int64_t length) noexcept {
    if (!has_states() || length == sequence.length) return;
    const StateMark mark = state_mark(sequence, length);
    hold(mark);
    while (!sequence.snapshots.empty() && sequence.snapshots.back().length > length) {
        let_go(sequence.snapshots.back());
        sequence.snapshots.pop_back();
    }
    let_go(sequence.now);
    let_go(sequence.before_append);
    sequence.now = mark;
    sequence.before_append = {-1, -1};
}

void KVCache::State::share_states(const Sequence& parent, Sequence& child, std::vector<StateMark> snapshots) noexcept {
    child.now = parent.now;
    child.before_append = parent.before_append;
    child.snapshots = std::move(snapshots);
    hold(child.now);
    hold(child.before_append);
    for (const StateMark& mark : child.snapshots) hold(mark);
}

void KVCache::State::release_states(Sequence& sequence) noexcept {
    let_go(sequence.now);
    let_go(sequence.before_append);
    for (const StateMark& mark : sequence.snapshots) let_go(mark);
    sequence.now = {};
    sequence.before_append = {-1, -1};
    sequence.snapshots.clear();
}

bool KVCache::has_states() const noexcept { return state_->has_states(); }

Result<std::int64_t> KVCache::restorable_length(SequenceId sequence, std::int64_t length) const noexcept {
    return without_exceptions([&]() -> Result<std::int64_t> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        const Sequence& found = state_->slots[slot];
        MIXTURA_RETURN_IF_ERROR(state_->check_windows(found, length));
        const std::int64_t kept = state_->state_mark(found, length).length;
        MIXTURA_RETURN_IF_ERROR(state_->check_windows(found, kept));
        return kept;
    });
}

Status KVCache::snapshot(SequenceId sequence) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        Sequence& found = state_->slots[slot];
        std::vector<StateMark>& kept = found.snapshots;
        const auto most = static_cast<std::size_t>(state_->description.snapshots_max);
        const bool is_kept = found.now.block < 0 || (!kept.empty() && kept.back().length == found.now.length);
        if (is_kept || most == 0) return {};
        reserve_more(kept, 1);
        if (kept.size() == most) {
            state_->let_go(kept.front());
            kept.erase(kept.begin());
        }
        state_->hold(found.now);
        kept.push_back(found.now);
        return {};
    });
}

Result<KVStateStep> KVCache::state_step(SequenceId sequence, std::size_t layer) noexcept {
    return without_exceptions([&]() -> Result<KVStateStep> {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        MIXTURA_RETURN_IF_ERROR(state_->check_state(layer));
        const Sequence& found = state_->slots[slot];
        if (found.before_append.length < 0) {
            return error(StatusCode::bad_state, "the state of layer ", layer, " at ", found.length,
                         " tokens cannot be written, since no token was appended there");
        }
        if (state_->pool.references(state_->state_group(), found.now.block) != 1) {
            return error(StatusCode::bad_state, "the state of layer ", layer, " at ", found.length,
                         " tokens is shared with a fork or a snapshot and cannot be written");
        }
        KVStateStep step;
        if (found.before_append.block >= 0)
            step.before = reinterpret_cast<const float*>(state_->state_data(found.before_append, layer));
        step.after = reinterpret_cast<float*>(state_->state_data(found.now, layer));
        step.size = state_->description.layers[layer].state_size;
        return step;
    });
}

Status KVCache::read_state(SequenceId sequence, std::size_t layer, std::span<float> state) const noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t slot, state_->slot_of(sequence));
        MIXTURA_RETURN_IF_ERROR(state_->check_state(layer));
        const StateMark& now = state_->slots[slot].now;
        const auto size = static_cast<std::size_t>(state_->description.layers[layer].state_size);
        if (state.size() != size) {
            return error(StatusCode::invalid_argument, "room for ", state.size(), " elements of the state of layer ",
                         layer, ", expected ", size);
        }
        if (now.block < 0)
            std::fill(state.begin(), state.end(), 0.0F);
        else
            std::memcpy(state.data(), state_->state_data(now, layer), size * sizeof(float));
        return {};
    });
}

}  // namespace mixtura
