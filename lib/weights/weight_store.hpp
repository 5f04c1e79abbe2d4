// The model's weights in memory: each matrix read from its file with pread and packed into the layout the kernels read,
// each vector as f32.  Owns the bytes; knows no forward pass.  A model hands in its bindings (role, source, expected
// shape, where the view goes) and gets them filled.
#pragma once

#include <mixtura/status.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "formats/model_files.hpp"
#include "kernels/layout.hpp"
#include "parallel/parallel_for.hpp"
#include "weights/placed_memory.hpp"
#include "weights/source.hpp"

namespace mixtura {

// What a binding becomes in memory.
enum class WeightForm {
    packed,  // PackedMatrix for products
    plain,   // the same, never below 16 bit: a coarser tensor becomes f32 (routers)
    rows,    // [rows, columns] as the file stores them: embedding tables, read a row at a time
    floats,  // f32 [rows, columns]: norms, biases, small tables
};

struct WeightBinding {
    std::string role;  // "layers.3.attention.query", for messages and the report of bytes
    WeightSource source;
    std::int64_t rows = 0;  // of the matrix as [out, in]; a vector has rows = its length and columns = 1
    std::int64_t columns = 1;
    WeightForm form = WeightForm::packed;
    PackedMatrix* matrix = nullptr;  // packed, plain and rows: the view to fill (rows: dtype and file-order data)
    const float** floats = nullptr;  // floats: the pointer to fill
    bool is_looked_up = false;       // some rows a token, multiplied with nothing: for the reckoning of costs
    // packed: what a 16- or 32-bit tensor is to become; unknown: nothing else.  See settled_target().
    DType wanted = DType::unknown;
    float added = 0.0F;  // floats: to every element (norms whose files leave the 1 out)
};

struct PredictedWeight {
    DType dtype = DType::unknown;  // in memory
    std::uint64_t size_bytes = 0;  // owned; 0 where an earlier binding's serve
};

// What a matrix lost when it was quantised.
struct QuantisationLoss {
    DType from = DType::unknown, to = DType::unknown;  // to unknown: it was not
    double error_sum = 0;                              // Σ (w - w')²
    double square_sum = 0;                             // Σ w²
    double largest = 0;                                // max |w - w'|
};

struct PredictedWeights {
    std::vector<PredictedWeight> weights;   // per binding
    std::vector<std::uint64_t> node_bytes;  // per node of the topology; empty: one node
};

// Called from the loading thread between pieces of work with bytes done and in all; false cancels (CANCELLED).
using LoadProgress = std::function<bool(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

class WeightStore {
  public:
    // Checks every binding against the index, then allocates, reads and packs on all threads.  Bindings with the same
    // source, shape and form share their memory.  CORRUPT_FILE when a tensor is missing or has another shape,
    // UNSUPPORTED for a dtype no kernel multiplies, OUT_OF_HOST_MEMORY, IO, CANCELLED.
    static Result<WeightStore> load(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                    ParallelFor& threads, const LoadProgress& progress,
                                    const Placement& placement = {});

    // What load() would make of each binding, without reading anything; the same errors for what does not fit.
    static Result<PredictedWeights> predict(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                            const Topology& topology = {});

    std::uint64_t size_bytes() const noexcept { return memory_.size_bytes(); }
    std::span<const std::uint64_t> node_bytes() const noexcept { return memory_.node_bytes(); }
    // Per binding; nothing lost for one that shares an earlier one's memory.  Empty where no binding wanted anything.
    std::span<const QuantisationLoss> losses() const noexcept { return losses_; }

    WeightStore() noexcept = default;

  private:
    PlacedMemory memory_;
    std::vector<QuantisationLoss> losses_;
};

}  // namespace mixtura
