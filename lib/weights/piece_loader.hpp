// Reads some rows of a matrix and puts them into memory in the form their binding asks for.  WeightStore cuts the work
// into pieces; any thread may load any piece.
#pragma once

#include <memory>
#include <vector>

#include "memory/piece_reader.hpp"
#include "weights/weight_job.hpp"

namespace mixtura {

// Rows [first, last) of a job's matrix: small enough that threads share big matrices, a whole number of panels.
struct WeightPiece {
    const WeightJob* job = nullptr;
    std::size_t job_index = 0;
    std::int64_t first_row = 0, last_row = 0;
};

// Memory of one thread, kept from piece to piece: fresh pages for each would cost more than packing.
struct PieceScratch {
    AlignedBuffer file, scales, rows, values, codes;
};

class PieceLoader {
  public:
    explicit PieceLoader(const WeightIndex& index);

    // Pre: the job has memory.  Errors as File::read_at; OUT_OF_HOST_MEMORY.  Threads: any-thread, own scratch each.
    // `loss`, where given: what quantising the piece lost.
    Status load(const WeightPiece& piece, PieceScratch& scratch, QuantisationLoss* loss = nullptr) const;

  private:
    // Rows of the file, one behind another, in scratch (or in `buffer`).
    Result<const std::byte*> gather(const PieceReader& reader, const WeightBinding& binding, std::uint64_t begin,
                                    std::size_t row_bytes, std::int64_t first, std::int64_t last, AlignedBuffer& buffer,
                                    AlignedBuffer& rows) const;
    Result<const std::byte*> gather_transposed(const WeightPiece& piece, PieceScratch& scratch) const;
    Result<const std::byte*> gather_mxfp4(const WeightPiece& piece, PieceScratch& scratch) const;
    // The same of weights in several tensors, to the end.
    Status load_packed(const WeightPiece& piece, PieceScratch& scratch, QuantisationLoss* loss) const;
    Status load_packed_transposed(const WeightPiece& piece, PieceScratch& scratch, QuantisationLoss* loss) const;

    std::vector<std::unique_ptr<PieceReader>> readers_;  // per file
};

}  // namespace mixtura
