#include "weights/weight_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/decode.hpp"

namespace mixtura {
namespace {

// A binding with its tensor and its place in memory.
struct Job {
    const WeightBinding* binding = nullptr;
    const TensorInfo* tensor = nullptr;
    std::uint64_t file_row_bytes = 0;  // of one row of the tensor as the file stores it
    std::uint64_t slice_offset = 0;    // from the tensor's begin to the slice's
    std::uint64_t memory_bytes = 0;
    std::byte* memory = nullptr;
};

// One piece of a job: some rows of the matrix.  Small enough that threads share big matrices, a whole number of panels.
struct Piece {
    const Job* job = nullptr;
    std::int64_t first_row = 0, last_row = 0;
};

constexpr std::uint64_t kPieceBytes = 4 << 20;

Status mismatch(const WeightBinding& binding, const TensorInfo& tensor, std::string_view expected) {
    return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), " is ", tensor.shape.to_string(),
                 ", expected ", expected, " for ", binding.role);
}

// Rows the tensor (or its slice) has and their length, with the leading axes of a stacked one taken off.
Result<std::pair<std::int64_t, std::int64_t>> matrix_extents(const WeightBinding& binding, const TensorInfo& tensor) {
    const Shape& shape = tensor.shape;
    const std::size_t stacked = binding.source.slice >= 0 ? 1 : 0;
    if (stacked == 1 && (shape.rank() < 2 || binding.source.slice >= shape[0])) {
        return mismatch(binding, tensor, text("at least ", binding.source.slice + 1, " stacked matrices"));
    }
    if (shape.rank() - stacked == 1) return std::pair{shape[stacked], std::int64_t{1}};
    if (shape.rank() - stacked != 2) return mismatch(binding, tensor, "a matrix");
    return std::pair{shape[stacked], shape[stacked + 1]};
}

// The last row of the tensor that the pattern touches, plus one.
std::int64_t rows_needed(const WeightBinding& binding) {
    const RowPattern& rows = binding.source.rows;
    if (rows.run == 0) return rows.begin + binding.rows;
    const std::int64_t last = binding.rows - 1;
    return rows.begin + last / rows.run * rows.stride + last % rows.run + 1;
}

std::int64_t file_row(const WeightBinding& binding, std::int64_t row) {
    const RowPattern& rows = binding.source.rows;
    return rows.run == 0 ? rows.begin + row : rows.begin + row / rows.run * rows.stride + row % rows.run;
}

Result<Job> make_job(const WeightIndex& index, const WeightBinding& binding) {
    const TensorInfo* tensor = index.find(binding.source.tensor);
    if (tensor == nullptr) {
        return error(StatusCode::corrupt_file, "the model has no tensor ", quoted(binding.source.tensor),
                     ", needed for ", binding.role);
    }
    MIXTURA_ASSIGN_OR_RETURN(const auto extents, matrix_extents(binding, *tensor));
    auto [rows, columns] = extents;
    const DTypeInfo& dtype = dtype_info(tensor->dtype);
    if (binding.source.is_transposed) {
        std::swap(rows, columns);
        if (dtype.block_elements != 1) {
            return error(StatusCode::unsupported, "tensor ", quoted(tensor->name), " (", dtype.name,
                         ") is stored transposed, which only plain types can be read from");
        }
    }
    if (columns != binding.columns || rows < rows_needed(binding) ||
        (binding.source.rows.run == 0 && binding.source.rows.begin == 0 && binding.form != WeightForm::rows &&
         rows != binding.rows)) {
        return mismatch(binding, *tensor, text("[", rows_needed(binding), ", ", binding.columns, "]"));
    }
    Job job{&binding, tensor, 0, 0, 0, nullptr};
    const std::int64_t file_columns = binding.source.is_transposed ? rows : columns;
    const std::int64_t file_rows = binding.source.is_transposed ? columns : rows;
    job.file_row_bytes = static_cast<std::uint64_t>(file_columns / dtype.block_elements * dtype.block_bytes);
    job.slice_offset = binding.source.slice < 0 ? 0
                                                : static_cast<std::uint64_t>(binding.source.slice) *
                                                      static_cast<std::uint64_t>(file_rows) * job.file_row_bytes;
    std::optional<std::uint64_t> bytes;
    switch (binding.form) {
        case WeightForm::packed: bytes = packed_bytes(tensor->dtype, binding.rows, binding.columns); break;
        case WeightForm::rows:
            bytes = checked_multiply(job.file_row_bytes, static_cast<std::uint64_t>(binding.rows));
            break;
        case WeightForm::floats:
            bytes = checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(binding.rows * binding.columns),
                                                    sizeof(float));
            break;
    }
    if (!bytes || (binding.form != WeightForm::packed && decoder(tensor->dtype) == nullptr)) {
        return error(StatusCode::unsupported, "tensor ", quoted(tensor->name), " of dtype ", dtype.name, " and shape ",
                     tensor->shape.to_string(), " cannot be used for ", binding.role);
    }
    job.memory_bytes = *bytes;
    return job;
}

Result<std::vector<Job>> make_jobs(const WeightIndex& index, const std::vector<WeightBinding>& bindings) {
    std::vector<Job> jobs;
    for (const WeightBinding& binding : bindings) {
        MIXTURA_ASSIGN_OR_RETURN(const Job job, make_job(index, binding));
        jobs.push_back(job);
    }
    return jobs;
}

// Bytes of the rows [first, last) of the matrix as the file stores them, gathered into `out` row after row.
Status gather_rows(const WeightIndex& index, const Piece& piece, std::vector<std::byte>& out) {
    const WeightBinding& binding = *piece.job->binding;
    const TensorInfo& tensor = *piece.job->tensor;
    const File& file = *index.files[tensor.file];
    const std::uint64_t begin = tensor.offset_bytes + piece.job->slice_offset;
    if (binding.source.is_transposed) {
        // Column by column of the file: element (row, column) of the matrix lies at file row `column`.
        const auto element = static_cast<std::size_t>(dtype_info(tensor.dtype).block_bytes);
        const std::int64_t row_count = piece.last_row - piece.first_row;
        out.resize(static_cast<std::size_t>(row_count * binding.columns) * element);
        std::vector<std::byte> line(static_cast<std::size_t>(piece.job->file_row_bytes));
        for (std::int64_t column = 0; column < binding.columns; ++column) {
            MIXTURA_RETURN_IF_ERROR(
                file.read_at(begin + static_cast<std::uint64_t>(column) * piece.job->file_row_bytes, line));
            for (std::int64_t row = 0; row < row_count; ++row) {
                std::memcpy(out.data() + static_cast<std::size_t>(row * binding.columns + column) * element,
                            line.data() + static_cast<std::size_t>(file_row(binding, piece.first_row + row)) * element,
                            element);
            }
        }
        return {};
    }
    const auto row_bytes = static_cast<std::size_t>(piece.job->file_row_bytes);
    out.resize(static_cast<std::size_t>(piece.last_row - piece.first_row) * row_bytes);
    for (std::int64_t row = piece.first_row; row < piece.last_row;) {
        // As many rows at once as lie behind each other in the file.
        std::int64_t run = 1;
        while (row + run < piece.last_row && file_row(binding, row + run) == file_row(binding, row) + run) ++run;
        MIXTURA_RETURN_IF_ERROR(
            file.read_at(begin + static_cast<std::uint64_t>(file_row(binding, row)) * row_bytes,
                         std::span(out).subspan(static_cast<std::size_t>(row - piece.first_row) * row_bytes,
                                                static_cast<std::size_t>(run) * row_bytes)));
        row += run;
    }
    return {};
}

Status load_piece(const WeightIndex& index, const Piece& piece) {
    const Job& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const std::int64_t row_count = piece.last_row - piece.first_row;
    std::vector<std::byte> rows;
    MIXTURA_RETURN_IF_ERROR(gather_rows(index, piece, rows));
    const DTypeInfo& dtype = dtype_info(job.tensor->dtype);
    switch (binding.form) {
        case WeightForm::packed:
            pack_rows(dtype.dtype, rows.data(), row_count, binding.columns,
                      job.memory + piece.first_row / kPanelRows * panel_bytes(dtype.dtype, binding.columns));
            break;
        case WeightForm::rows:
            std::memcpy(
                job.memory + static_cast<std::size_t>(piece.first_row) * static_cast<std::size_t>(job.file_row_bytes),
                rows.data(), rows.size());
            break;
        case WeightForm::floats:
            decoder(dtype.dtype)(rows.data(), reinterpret_cast<float*>(job.memory) + piece.first_row * binding.columns,
                                 static_cast<std::size_t>(row_count * binding.columns / dtype.block_elements));
            break;
    }
    return {};
}

std::vector<Piece> make_pieces(const std::vector<Job>& jobs) {
    std::vector<Piece> pieces;
    for (const Job& job : jobs) {
        const std::int64_t rows = job.binding->rows;
        std::int64_t step = static_cast<std::int64_t>(kPieceBytes / std::max<std::uint64_t>(job.file_row_bytes, 1));
        step = std::max(step / kPanelRows * kPanelRows, kPanelRows);
        // A transposed tensor is read column by column: in one piece, so that it is read once.
        if (job.binding->source.is_transposed) step = rows;
        for (std::int64_t row = 0; row < rows; row += step) pieces.push_back({&job, row, std::min(row + step, rows)});
    }
    return pieces;
}

void hand_out_views(const std::vector<Job>& jobs) {
    for (const Job& job : jobs) {
        const WeightBinding& binding = *job.binding;
        if (binding.floats != nullptr) *binding.floats = reinterpret_cast<const float*>(job.memory);
        if (binding.matrix != nullptr) *binding.matrix = {job.tensor->dtype, binding.rows, binding.columns, job.memory};
    }
}

}  // namespace

Result<std::uint64_t> WeightStore::predicted_bytes(const WeightIndex& index,
                                                   const std::vector<WeightBinding>& bindings) {
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<Job> jobs, make_jobs(index, bindings));
    std::uint64_t total = 0;
    for (const Job& job : jobs) total += job.memory_bytes;  // cannot wrap: each is bounded by its file's size times two
    return total;
}

Result<WeightStore> WeightStore::load(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                      ParallelFor& threads, const LoadProgress& progress) {
    MIXTURA_ASSIGN_OR_RETURN(std::vector<Job> jobs, make_jobs(index, bindings));
    WeightStore store;
    for (Job& job : jobs) {
        MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::allocate(job.memory_bytes));
        job.memory = buffer.data();
        store.size_bytes_ += job.memory_bytes;
        store.buffers_.push_back(std::move(buffer));
    }
    const std::vector<Piece> pieces = make_pieces(jobs);
    // Rounds of a few pieces a thread: between them the calling thread reports progress and may be told to stop.
    const auto round = static_cast<std::size_t>(threads.thread_count()) * 4;
    std::uint64_t done = 0;
    for (std::size_t first = 0; first < pieces.size(); first += round) {
        if (progress && !progress(done, store.size_bytes_))
            return error(StatusCode::cancelled, "loading was cancelled");
        const std::size_t count = std::min(round, pieces.size() - first);
        std::mutex failure_lock;
        Status failure;
        parallel_for(threads, static_cast<std::int64_t>(count), [&](std::int64_t i, int) noexcept {
            Status status =
                without_exceptions([&] { return load_piece(index, pieces[first + static_cast<std::size_t>(i)]); });
            if (status.is_ok()) return;
            const std::lock_guard guard(failure_lock);
            if (failure.is_ok()) failure = std::move(status);
        });
        MIXTURA_RETURN_IF_ERROR(std::move(failure));
        for (std::size_t i = first; i < first + count; ++i) {
            const Piece& piece = pieces[i];
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
