#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "experts/mixture.hpp"
#include "experts/mixture_call.hpp"
#include "experts/scratch_layout.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kLine = AlignedBuffer::kAlignmentBytes;
// Tasks in flight times kPieceBytes, up to 64 threads; more threads get smaller pieces.
constexpr std::uint64_t kPiecesBytesMax = 64 * kPieceBytes;

// Parts one behind the other; once a size has left uint64 it stays lost.
class Parts {
  public:
    std::uint64_t place(std::optional<std::uint64_t> bytes) noexcept {
        const std::uint64_t at = end_.value_or(0);
        if (bytes && end_) bytes = checked_align_up(*bytes, kLine);
        end_ = bytes && end_ ? checked_add(*end_, *bytes) : std::nullopt;
        return at;
    }
    std::optional<std::uint64_t> end() const noexcept { return end_; }

  private:
    std::optional<std::uint64_t> end_ = 0;
};

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
    const std::optional<std::uint64_t> ab = checked_multiply(a, b);
    return ab ? checked_multiply(*ab, c) : std::nullopt;
}

}  // namespace

std::optional<ScratchLayout> ScratchLayout::of(const ExpertSpec& spec, std::int64_t tokens,
                                               std::int64_t choices) noexcept {
    if (tokens < 0 || choices < 0 || spec.hidden_size < 0 || spec.width < 0 || spec.shared_width < 0 ||
        spec.expert_count < 0)
        return std::nullopt;
    const auto t = static_cast<std::uint64_t>(tokens), k = static_cast<std::uint64_t>(choices);
    const auto h = static_cast<std::uint64_t>(spec.hidden_size);
    const auto e = static_cast<std::uint64_t>(spec.expert_count);
    const auto slots = checked_multiply(t, k);
    const auto rows_of_token =
        checked_add<std::uint64_t>(k, 1);  // outputs that are mixed, the shared expert's included
    if (!slots || !rows_of_token || h > kHiddenRowMax || e == std::numeric_limits<std::uint64_t>::max())
        return std::nullopt;
    const std::uint64_t block_row = (h + kBlockColumns - 1) / kBlockColumns * sizeof(ActivationBlock);
    const std::uint64_t scaled_slots = spec.weight_at == WeightAt::input ? *slots : 0;

    Parts parts;
    ScratchLayout layout;
    layout.input_blocks = parts.place(checked_multiply(t, block_row));
    layout.scaled = parts.place(product(scaled_slots, h, sizeof(float)));
    layout.scaled_blocks = parts.place(checked_multiply(scaled_slots, block_row));
    layout.routed = parts.place(checked_multiply(*slots, hidden_row_bytes(spec.width)));
    layout.shared = parts.place(checked_multiply(t, hidden_row_bytes(spec.shared_width)));
    layout.shared_factor = parts.place(checked_multiply<std::uint64_t>(t, sizeof(float)));
    layout.choice_of_slot = parts.place(checked_multiply<std::uint64_t>(*slots, sizeof(std::int32_t)));
    layout.jobs = parts.place(checked_multiply<std::uint64_t>(e + 1, sizeof(ExpertJob)));
    // One token's outputs twice over always fit: cut into as many pieces as there are tasks, each holds a whole task.
    const auto token_bytes = product(*rows_of_token, 2 * (h + kPanelRows), sizeof(float));
    const auto bytes = token_bytes ? checked_multiply(t, *token_bytes) : std::nullopt;
    if (!bytes) return std::nullopt;
    layout.pieces_bytes = std::min(*bytes, std::max(kPiecesBytesMax, *token_bytes));
    layout.pieces = parts.place(layout.pieces_bytes);
    if (!parts.end()) return std::nullopt;
    layout.size_bytes = *parts.end();
    return layout;
}

std::uint64_t MixtureScratch::bytes(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices) noexcept {
    const std::optional<ScratchLayout> layout = ScratchLayout::of(spec, tokens, choices);
    return layout ? layout->size_bytes : std::numeric_limits<std::uint64_t>::max();
}

Status MixtureScratch::reserve(const ExpertSpec& spec, std::int64_t tokens, std::int64_t choices) {
    const std::uint64_t needed = bytes(spec, tokens, choices);
    if (needed <= size_bytes_) return {};
    MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer larger, AlignedBuffer::allocate(needed));
    buffer_ = std::move(larger);
    size_bytes_ = needed;
    return {};
}

}  // namespace mixtura
