#include "weights/weight_store.hpp"

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "weights/piece_loader.hpp"
#include "weights/weight_job.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kPieceBytes = 4 << 20;

// What the jobs want of memory, in their order; those that share another's want none.
std::vector<Extent> extents_of(const std::vector<WeightJob>& jobs) {
    std::vector<Extent> extents;
    for (const WeightJob& job : jobs) {
        if (job.same_as) continue;
        const WeightBinding& binding = *job.binding;
        const bool is_product = binding.form == WeightForm::packed || binding.form == WeightForm::plain;
        extents.push_back({job.memory_bytes, is_product ? panel_count(binding.rows) : 0,
                           is_product ? panel_bytes(job.dtype, binding.columns) : 0});
        if (job.order_bytes > 0) extents.push_back({job.order_bytes, 0, 0});
    }
    return extents;
}

std::vector<WeightPiece> make_pieces(const std::vector<WeightJob>& jobs) {
    std::vector<WeightPiece> pieces;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const WeightJob& job = jobs[i];
        if (job.same_as) continue;
        const std::int64_t rows = job.binding->rows;
        std::int64_t step = static_cast<std::int64_t>(kPieceBytes / std::max<std::uint64_t>(job.file_row_bytes, 1));
        step = std::max(step / kPanelRows * kPanelRows, kPanelRows);
        // A transposed tensor is read column by column: in one piece, so that it is read once.
        if (job.binding->source.is_transposed || (job.packed != nullptr && job.packed->is_across())) step = rows;
        for (std::int64_t row = 0; row < rows; row += step)
            pieces.push_back({&job, i, row, std::min(row + step, rows)});
    }
    return pieces;
}

// Of each job, its pieces' added in their order, so that the sums are the same whoever loaded them.
std::vector<QuantisationLoss> losses_of(const std::vector<WeightJob>& jobs, const std::vector<WeightPiece>& pieces,
                                        const std::vector<QuantisationLoss>& of_pieces) {
    std::vector<QuantisationLoss> losses(jobs.size());
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        QuantisationLoss& loss = losses[pieces[p].job_index];
        const QuantisationLoss& part = of_pieces[p];
        if (part.to == DType::unknown) continue;
        loss.from = part.from;
        loss.to = part.to;
        loss.error_sum += part.error_sum;
        loss.square_sum += part.square_sum;
        loss.largest = std::max(loss.largest, part.largest);
    }
    return losses;
}

void hand_out_views(const std::vector<WeightJob>& jobs) {
    for (const WeightJob& job : jobs) {
        const WeightBinding& binding = *job.binding;
        const WeightJob& owner = job.same_as ? jobs[*job.same_as] : job;
        const Place& memory = owner.memory;
        if (binding.floats != nullptr) *binding.floats = reinterpret_cast<const float*>(memory.data);
        if (binding.matrix != nullptr)
            *binding.matrix = {job.dtype, binding.rows, binding.columns, memory.data, memory.parts, owner.order};
    }
}

}  // namespace

Result<PredictedWeights> WeightStore::predict(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                              const Topology& topology) {
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<WeightJob> jobs, make_weight_jobs(index, bindings));
    PredictedWeights predicted;
    for (const WeightJob& job : jobs)
        predicted.weights.push_back({job.dtype, job.same_as ? 0 : job.memory_bytes + job.order_bytes});
    if (topology.node_count() > 1) predicted.node_bytes = bytes_of_nodes(extents_of(jobs), topology);
    return predicted;
}

Result<WeightStore> WeightStore::load(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                      ParallelFor& threads, const LoadProgress& progress, const Placement& placement) {
    MIXTURA_ASSIGN_OR_RETURN(std::vector<WeightJob> jobs, make_weight_jobs(index, bindings));
    WeightStore store;
    MIXTURA_ASSIGN_OR_RETURN(store.memory_, PlacedMemory::allocate(extents_of(jobs), placement));
    std::size_t extent = 0;
    for (WeightJob& job : jobs) {
        if (job.same_as) continue;
        job.memory = store.memory_[extent++];
        if (job.order_bytes > 0) job.order = reinterpret_cast<std::int32_t*>(store.memory_[extent++].data);
    }
    const std::vector<WeightPiece> pieces = make_pieces(jobs);
    const PieceLoader loader(index);
    std::vector<PieceScratch> scratch(static_cast<std::size_t>(threads.thread_count()));
    const bool is_quantised = std::any_of(bindings.begin(), bindings.end(), [](const WeightBinding& binding) {
        return binding.wanted != DType::unknown;
    });
    std::vector<QuantisationLoss> losses(is_quantised ? pieces.size() : 0);
    // Rounds of some pieces a thread: between them the calling thread reports progress and may be told to stop.  At the
    // end of a round threads wait for the last piece, so a round is long beside a piece, and short beside a second.
    const auto round = static_cast<std::size_t>(threads.thread_count()) * 16;
    std::uint64_t done = 0;
    for (std::size_t first = 0; first < pieces.size(); first += round) {
        if (progress && !progress(done, store.size_bytes()))
            return error(StatusCode::cancelled, "loading was cancelled");
        const std::size_t count = std::min(round, pieces.size() - first);
        std::mutex failure_lock;
        Status failure;
        parallel_for(threads, static_cast<std::int64_t>(count), [&](std::int64_t i, int worker) noexcept {
            Status status = without_exceptions([&] {
                const std::size_t piece = first + static_cast<std::size_t>(i);
                return loader.load(pieces[piece], scratch[static_cast<std::size_t>(worker)],
                                   is_quantised ? &losses[piece] : nullptr);
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
    if (progress && !progress(store.size_bytes(), store.size_bytes()))
        return error(StatusCode::cancelled, "loading was cancelled");
    if (is_quantised) store.losses_ = losses_of(jobs, pieces, losses);
    hand_out_views(jobs);
    return store;
}

}  // namespace mixtura
