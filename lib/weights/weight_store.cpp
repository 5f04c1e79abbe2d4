#include "weights/weight_store.hpp"

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "weights/piece_loader.hpp"
#include "weights/weight_job.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kPieceBytes = 4 << 20;
// Matrices that are bound one behind another (an expert's gate, up and down; a layer) lie so in memory.
constexpr std::uint64_t kArenaBytes = 256 << 20, kLineBytes = AlignedBuffer::kAlignmentBytes;

std::uint64_t whole_lines(std::uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

std::vector<WeightPiece> make_pieces(const std::vector<WeightJob>& jobs) {
    std::vector<WeightPiece> pieces;
    for (const WeightJob& job : jobs) {
        if (job.same_as) continue;
        const std::int64_t rows = job.binding->rows;
        std::int64_t step = static_cast<std::int64_t>(kPieceBytes / std::max<std::uint64_t>(job.file_row_bytes, 1));
        step = std::max(step / kPanelRows * kPanelRows, kPanelRows);
        // A transposed tensor is read column by column: in one piece, so that it is read once.
        if (job.binding->source.is_transposed) step = rows;
        for (std::int64_t row = 0; row < rows; row += step) pieces.push_back({&job, row, std::min(row + step, rows)});
    }
    return pieces;
}

void hand_out_views(const std::vector<WeightJob>& jobs) {
    for (const WeightJob& job : jobs) {
        const WeightBinding& binding = *job.binding;
        const std::byte* memory = job.same_as ? jobs[*job.same_as].memory : job.memory;
        if (binding.floats != nullptr) *binding.floats = reinterpret_cast<const float*>(memory);
        if (binding.matrix != nullptr) *binding.matrix = {job.dtype, binding.rows, binding.columns, memory};
    }
}

// Takes memory for the jobs, in arenas.
Result<std::vector<AlignedBuffer>> place(std::vector<WeightJob>& jobs) {
    std::vector<AlignedBuffer> arenas;
    for (auto first = jobs.begin(); first != jobs.end();) {
        std::uint64_t bytes = 0;
        auto last = first;
        for (; last != jobs.end(); ++last) {
            const std::uint64_t more = last->same_as ? 0 : whole_lines(last->memory_bytes);
            if (bytes > 0 && bytes + more > kArenaBytes) break;
            bytes += more;
        }
        MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer arena, AlignedBuffer::allocate(bytes));
        std::byte* next = arena.data();
        for (; first != last; ++first) {
            if (first->same_as) continue;
            first->memory = next;
            next += whole_lines(first->memory_bytes);
        }
        arenas.push_back(std::move(arena));
    }
    return arenas;
}

}  // namespace

Result<std::vector<PredictedWeight>> WeightStore::predict(const WeightIndex& index,
                                                          const std::vector<WeightBinding>& bindings) {
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<WeightJob> jobs, make_weight_jobs(index, bindings));
    std::vector<PredictedWeight> weights;
    for (const WeightJob& job : jobs) weights.push_back({job.dtype, job.same_as ? 0 : job.memory_bytes});
    return weights;
}

Result<WeightStore> WeightStore::load(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                      ParallelFor& threads, const LoadProgress& progress) {
    MIXTURA_ASSIGN_OR_RETURN(std::vector<WeightJob> jobs, make_weight_jobs(index, bindings));
    WeightStore store;
    for (const WeightJob& job : jobs) store.size_bytes_ += job.same_as ? 0 : job.memory_bytes;
    MIXTURA_ASSIGN_OR_RETURN(store.buffers_, place(jobs));
    const std::vector<WeightPiece> pieces = make_pieces(jobs);
    const PieceLoader loader(index);
    std::vector<PieceScratch> scratch(static_cast<std::size_t>(threads.thread_count()));
    // Rounds of some pieces a thread: between them the calling thread reports progress and may be told to stop.  At the
    // end of a round threads wait for the last piece, so a round is long beside a piece, and short beside a second.
    const auto round = static_cast<std::size_t>(threads.thread_count()) * 16;
    std::uint64_t done = 0;
    for (std::size_t first = 0; first < pieces.size(); first += round) {
        if (progress && !progress(done, store.size_bytes_))
            return error(StatusCode::cancelled, "loading was cancelled");
        const std::size_t count = std::min(round, pieces.size() - first);
        std::mutex failure_lock;
        Status failure;
        parallel_for(threads, static_cast<std::int64_t>(count), [&](std::int64_t i, int worker) noexcept {
            Status status = without_exceptions([&] {
                return loader.load(pieces[first + static_cast<std::size_t>(i)],
                                   scratch[static_cast<std::size_t>(worker)]);
            });
            if (status.is_ok()) return;
            const std::lock_guard guard(failure_lock);
            if (failure.is_ok()) failure = std::move(status);
        });
        MIXTURA_RETURN_IF_ERROR(std::move(failure));
        for (std::size_t i = first; i < first + count; ++i) {
            const WeightPiece& piece = pieces[i];
            done += piece.job->memory_bytes /
                    static_cast<std::uint64_t>(std::max<std::int64_t>(piece.job->binding->rows, 1)) *
                    static_cast<std::uint64_t>(piece.last_row - piece.first_row);
        }
    }
    if (progress && !progress(store.size_bytes_, store.size_bytes_))
        return error(StatusCode::cancelled, "loading was cancelled");
    hand_out_views(jobs);
    return store;
}

}  // namespace mixtura
