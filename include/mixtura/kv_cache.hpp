// KVCache: the keys and values of many sequences, in blocks of 32 tokens that sequences share until one of them writes.
// Usable alone: describe the layers, append tokens, write their rows, read blocks from your own attention.
//
// A block belongs to one layer group and holds 32 consecutive positions of every layer in it.  It is whole pages;
// within it each layer's planes lie one after another, each 64-byte aligned, and a plane is [head][32 tokens][size], so
// that the 32 keys an attention kernel reads for one head are contiguous, and so are the 32 values.  A group's blocks
// lie at base + id · stride and never move; position p is token p mod 32 of block block_table[p div 32].
//
// A recurrent layer keeps no rows but a state: so many f32, whatever the length.  The states of all such layers are one
// block a sequence and moment.  Every append takes a fresh one, into which the step's states are written, and keeps the
// one before, so that the append can be undone; snapshot() keeps further moments to come back to.  No state is ever
// copied.
//
// A group of a source keeps rows of what a decoder reads beside its own past, an encoder's output: append_source()
// reserves them, once a sequence, whatever its length, and they never grow.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace mixtura {

inline constexpr std::int64_t kKVBlockTokens = 32;

// One matrix row a token leaves behind: the keys of a layer, or its values, or the one latent row of latent attention.
struct KVPlane {
    std::int64_t heads = 0;
    std::int64_t size = 0;  // elements of one head's row
    // f32, f16, bf16; or codes with scales: a row of q8_0 is blocks of 32 elements as GGUF's, an f16 and 32 int8, the
    // last filled up with zeros; one of f8_e4m3 is its own scale as f32 and then an e4m3 an element.  An element reads
    // as code · scale, rounded once.  Where one is NaN or infinite, all that share its scale read as NaN.
    DType dtype = DType::f16;
};

struct KVLayer {
    std::vector<KVPlane> planes = {};  // by convention keys, then values; none for a layer that keeps nothing
    std::size_t group = 0;
    std::int64_t state_size = 0;  // f32 that the layer keeps of everything before; 0: none
};

// Layers of one group see equally far back, so their blocks are taken and released together.
struct KVGroup {
    std::int64_t window_tokens = 0;  // a query at q sees (q - window, q]; 0 = no window
    std::int64_t chunk_tokens = 0;   // a query at q sees from the last multiple of it up to q; 0 = no chunks
    bool is_source = false;          // its rows are those of append_source(), and every query sees all of them
};

struct KVDescription {
    std::vector<KVLayer> layers = {};
    std::vector<KVGroup> groups = {KVGroup{}};
    std::int64_t tokens_max = 2'147'483'647;  // of one sequence, and of one source
    // Of all blocks, in use or kept for reuse; unset: what the machine, or this process' cgroup, has.
    std::optional<std::uint64_t> bytes_max = {};
    std::int64_t snapshots_max = 4;  // of one sequence's states: one more, and the oldest goes

    // `layers` alike layers of grouped-query attention in one group that sees everything.
    static KVDescription uniform(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_size, DType dtype);
};

enum class SequenceId : std::uint64_t {};  // never given twice by one cache

// Where a plane lies in each block.
struct KVPlaneView {
    std::size_t offset_bytes = 0;
    std::size_t head_stride_bytes = 0;  // 32 · row_stride_bytes
    std::size_t row_stride_bytes = 0;   // of a row, its scales included
    std::int64_t heads = 0;
    std::int64_t size = 0;
    DType dtype = DType::f16;
};

// One layer of one sequence, for reading.  Valid until the cache's next append, truncate, release_before,
// free_sequence or import_sequence.
struct KVView {
    const std::byte* base = nullptr;
    std::size_t block_stride_bytes = 0;
    std::span<const std::int32_t> block_table;  // by position div 32; -1 where released
    std::int64_t first_block = 0;               // blocks of the table below it were released
    std::int64_t length_tokens = 0;             // positions at or above it are not to be read
    std::span<const KVPlaneView> planes;

    // The row of `head` at `position`, of planes[plane].size elements; 32 · first_block <= position < length_tokens.
    const std::byte* row(std::size_t plane, std::int64_t head, std::int64_t position) const noexcept {
        const KVPlaneView& p = planes[plane];
        const auto block = static_cast<std::size_t>(block_table[static_cast<std::size_t>(position / kKVBlockTokens)]);
        const auto token = static_cast<std::size_t>(position % kKVBlockTokens);
        return base + block * block_stride_bytes + p.offset_bytes +
               static_cast<std::size_t>(head) * p.head_stride_bytes + token * p.row_stride_bytes;
    }
};

// The state of one layer over the last append.
struct KVStateStep {
    const float* before = nullptr;  // what it was; nullptr: all zeros, in front of the first token
    float* after = nullptr;  // where the new one goes, all of it; without sense until then; elsewhere than before
    std::int64_t size = 0;   // elements; both begin at cache lines
};

struct KVMemory {
    std::uint64_t bytes_max = 0;
    std::uint64_t bytes_held = 0;     // taken from the system; never above bytes_max
    std::uint64_t bytes_used = 0;     // of these, in blocks that a sequence holds
    std::uint64_t blocks_used = 0;    // of rows, and of states
    std::uint64_t blocks_shared = 0;  // held twice or more: by sequences, or by a sequence and its snapshots
    std::uint64_t blocks_free = 0;    // kept for reuse
    std::uint64_t sequences = 0;
    std::uint64_t tokens = 0;  // sum of the sequences' lengths
};

class KVCache {
  public:
    // Reserves addresses but no memory yet.  INVALID_ARGUMENT where the description contradicts itself or a block would
    // exceed 1 TiB; OUT_OF_HOST_MEMORY where this process may not have that many addresses (a smaller budget needs
    // fewer).
    static Result<KVCache> create(KVDescription description) noexcept;

    // Block bytes that one sequence of `tokens` tokens needs when at most `step_tokens` are appended at once and
    // release_before follows every step, with all the snapshots it may have, and a source as long as it.  Errors as
    // create().   Threads: any-thread.
    static Result<std::uint64_t> bytes_needed(const KVDescription& description, std::int64_t tokens,
                                              std::int64_t step_tokens) noexcept;

    const KVDescription& description() const noexcept;
    bool has_states() const noexcept;  // whether any layer is recurrent
    KVMemory memory() const noexcept;

    // Sequences.  Every function that takes a SequenceId gives NOT_FOUND for one that is freed or was never given.
    Result<SequenceId> create_sequence() noexcept;
    // A second sequence with the same content, which shares all blocks; whichever writes into a shared block first gets
    // a copy of the tokens it holds.
    Result<SequenceId> fork(SequenceId sequence) noexcept;
    Status free_sequence(SequenceId sequence) noexcept;
    Result<std::int64_t> length(SequenceId sequence) const noexcept;

    // Reserves the next `count` positions (zeroed) and gives the first.  OUT_OF_RANGE beyond tokens_max;
    // BUDGET_EXCEEDED, OUT_OF_HOST_MEMORY.  On failure every sequence and every byte is as before.
    Result<std::int64_t> append(SequenceId sequence, std::int64_t count) noexcept;
    // Reserves `count` rows (zeroed) in the groups of a source, to be written before they are read; a sequence without
    // them has none there.  BAD_STATE where it has some; INVALID_ARGUMENT where no group is of a source; otherwise the
    // errors of append().  truncate() leaves them, a fork shares them.
    Status append_source(SequenceId sequence, std::int64_t count) noexcept;
    Result<std::int64_t> source_length(SequenceId sequence) const noexcept;
    // Forgets the positions from `length` on.  OUT_OF_RANGE above the length, or where a token appended at `length`
    // would see a position that was released; and, with recurrent layers, where their states are not kept: they are at
    // the length itself, at the length before the last append, at every snapshot, and at 0.
    Status truncate(SequenceId sequence, std::int64_t length) noexcept;
    // The highest length up to `length` that truncate() can come back to: `length` itself but for recurrent layers.
    // OUT_OF_RANGE above the length, or where what it would see was released.
    Result<std::int64_t> restorable_length(SequenceId sequence, std::int64_t length) const noexcept;
    // Releases the group's blocks that lie wholly below `position`.  OUT_OF_RANGE where the next token appended would
    // still see one of the positions below it: first_visible() is the highest that is allowed.
    Status release_before(SequenceId sequence, std::size_t group, std::int64_t position) noexcept;
    // The lowest position that the next token appended sees in this group.
    Result<std::int64_t> first_visible(SequenceId sequence, std::size_t group) const noexcept;
    // The lowest position whose block is still there: a multiple of 32.
    Result<std::int64_t> kept_from(SequenceId sequence, std::size_t group) const noexcept;

    // Stores rows [T, heads · size] f32 at positions first to first + T - 1, rounded to nearest even where the plane is
    // narrower than f32 (beyond the range of f16 and bf16: to infinity).  OUT_OF_RANGE outside the kept positions;
    // BAD_STATE where a block is shared with a fork, whose content this would change.
    // Threads: calls for different rows may run at once, with each other and with reads of other rows.
    Status write(SequenceId sequence, std::size_t layer, std::size_t plane, std::int64_t first,
                 std::span<const float> rows) noexcept;
    // The same rows back, exactly as stored.  Any-thread beside other const members.
    Status read(SequenceId sequence, std::size_t layer, std::size_t plane, std::int64_t first,
                std::span<float> rows) const noexcept;
    Result<KVView> view(SequenceId sequence, std::size_t layer) const noexcept;

    // The states of recurrent layers.  Keeps those at the sequence's present length for truncate(), until it is cut
    // below; what is kept already, or needs no keeping, is no error.  Takes no block, but the next append may need one
    // more for it.
    Status snapshot(SequenceId sequence) noexcept;
    // For writing the states of the last append; valid as a KVView.  INVALID_ARGUMENT for a layer without state;
    // BAD_STATE where nothing was appended since the sequence was created or cut, or where a fork or a snapshot shares
    // it.   Threads: as write().
    Result<KVStateStep> state_step(SequenceId sequence, std::size_t layer) noexcept;
    // The state at the sequence's length, state_size elements; zeros where it has no token.  Any-thread beside other
    // const members.
    Status read_state(SequenceId sequence, std::size_t layer, std::span<float> state) const noexcept;

    // Gives the blocks kept for reuse back to the system.
    void trim() noexcept;

    // A sequence as bytes, without its snapshots, to be kept and read back by a cache of the same layers and groups
    // (its limits may differ). The bytes are checked in full before anything is taken: UNKNOWN_FORMAT,
    // VERSION_MISMATCH, CORRUPT_FILE, INVALID_ARGUMENT for other layers; then the errors of append().
    Result<std::vector<std::byte>> export_sequence(SequenceId sequence) const noexcept;
    Result<SequenceId> import_sequence(std::span<const std::byte> bytes) noexcept;

    // Threads, where nothing else is said: const members any-thread, as long as no other member runs; the others
    // per-object.   Blocks: no.
    KVCache(KVCache&&) noexcept;
    KVCache& operator=(KVCache&&) noexcept;
    ~KVCache();

    struct State;

  private:
    explicit KVCache(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace mixtura
