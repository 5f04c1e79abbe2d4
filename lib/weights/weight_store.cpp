#include "weights/weight_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/decode.hpp"

namespace mixtura {
namespace {

// A binding with its tensor and its place in memory.
struct Job {
    const WeightBinding* binding = nullptr;
    const TensorInfo* tensor = nullptr;
    const TensorInfo* scales = nullptr;  // of MXFP4 in two tensors
    std::optional<std::size_t> same_as;  // an earlier job with the same bytes, whose memory serves both
    DType dtype = DType::unknown;        // in memory
    std::int64_t file_rows = 0;          // of the tensor or slice as the file stores it
    std::uint64_t file_row_bytes = 0;    // of one of them
    std::uint64_t slice_offset = 0;      // from the tensor's begin to the slice's
    std::uint64_t memory_bytes = 0;
    std::byte* memory = nullptr;
};

// One piece of a job: some rows of the matrix.  Small enough that threads share big matrices, a whole number of panels.
struct Piece {
    const Job* job = nullptr;
    std::int64_t first_row = 0, last_row = 0;
};

constexpr std::uint64_t kPieceBytes = 4 << 20;
constexpr std::int64_t kMxBlockColumns = 32, kMxCodeBytes = 16;

Status mismatch(const WeightBinding& binding, const TensorInfo& tensor, std::string_view expected) {
    return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), " is ", tensor.shape.to_string(),
                 ", expected ", expected, " for ", binding.role);
}

// Rows the tensor (or its slice) has and their length in elements, with the leading axes of a stacked one taken off.
Result<std::pair<std::int64_t, std::int64_t>> matrix_extents(const WeightBinding& binding, const TensorInfo& tensor) {
    const Shape& shape = tensor.shape;
    const WeightSource& source = binding.source;
    std::span<const std::int64_t> axes = shape.extents();
    if (source.slice >= 0 && source.slice_count == 0) {
        if (axes.size() < 2 || source.slice >= axes[0])
            return mismatch(binding, tensor, text("at least ", source.slice + 1, " stacked matrices"));
        axes = axes.subspan(1);
    }
    if (binding.form == WeightForm::floats && binding.columns == 1) {
        std::int64_t count = 1;
        for (const std::int64_t axis : axes) count *= axis;  // within the tensor's own count, which was checked
        return std::pair{count, std::int64_t{1}};
    }
    if (!source.scales.empty() && axes.size() == 3 && axes[2] == kMxCodeBytes)
        return std::pair{axes[0], axes[1] * kMxBlockColumns};
    // A row vector is often stored with one axis only.
    if (axes.size() == 1)
        return binding.rows == 1 ? std::pair{std::int64_t{1}, axes[0]} : std::pair{axes[0], std::int64_t{1}};
    if (axes.size() != 2) return mismatch(binding, tensor, "a matrix");
    std::int64_t rows = axes[0];
    if (source.slice_count > 0) {
        if (rows % source.slice_count != 0 || source.slice >= source.slice_count)
            return mismatch(binding, tensor, text("rows in ", source.slice_count, " equal parts"));
        rows /= source.slice_count;
    }
    return std::pair{rows, axes[1]};
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

Result<const TensorInfo*> find_tensor(const WeightIndex& index, const WeightBinding& binding, const std::string& name) {
    const TensorInfo* tensor = index.find(name);
    if (tensor != nullptr) return tensor;
    return error(StatusCode::corrupt_file, "the model has no tensor ", quoted(name), ", needed for ", binding.role);
}

// The dtype in memory: the file's, but f32 where the file's cannot be had in that form.
DType stored_dtype(const WeightBinding& binding, DType file_dtype) {
    const bool is_block = dtype_info(file_dtype).block_elements != 1;
    if (!binding.source.scales.empty()) return DType::mxfp4;
    if (binding.form == WeightForm::floats) return DType::f32;
    if (binding.form == WeightForm::plain && panel_kind(file_dtype) != PanelKind::plain) return DType::f32;
    return is_block && binding.source.is_transposed ? DType::f32 : file_dtype;
}

Result<Job> make_job(const WeightIndex& index, const WeightBinding& binding) {
    const WeightSource& source = binding.source;
    Job job;
    job.binding = &binding;
    MIXTURA_ASSIGN_OR_RETURN(job.tensor, find_tensor(index, binding, source.tensor));
    const TensorInfo& tensor = *job.tensor;
    MIXTURA_ASSIGN_OR_RETURN(const auto extents, matrix_extents(binding, tensor));
    auto [rows, columns] = extents;
    const DTypeInfo& dtype = dtype_info(tensor.dtype);
    job.file_rows = rows;
    job.file_row_bytes = static_cast<std::uint64_t>(columns / dtype.block_elements * dtype.block_bytes);
    if (!source.scales.empty()) {
        MIXTURA_ASSIGN_OR_RETURN(job.scales, find_tensor(index, binding, source.scales));
        job.file_row_bytes = static_cast<std::uint64_t>(columns / kMxBlockColumns * kMxCodeBytes);
        const bool fits = tensor.dtype == DType::u8 && job.scales->dtype == DType::u8 &&
                          job.scales->shape.element_count() * kMxCodeBytes == tensor.shape.element_count();
        if (!fits) return mismatch(binding, *job.scales, "one byte for each 16 of its blocks, both of type u8,");
    }
    if (source.is_transposed) std::swap(rows, columns);
    const bool has_inputs = source.input_begin < 0
                                ? columns == binding.columns
                                : source.is_transposed && columns - source.input_begin >= binding.columns;
    if (!has_inputs || rows < rows_needed(binding) ||
        (source.rows.run == 0 && source.rows.begin == 0 && binding.form != WeightForm::rows && rows != binding.rows)) {
        return mismatch(binding, tensor, text("[", rows_needed(binding), ", ", binding.columns, "]"));
    }
    if (source.slice > 0) {
        job.slice_offset =
            static_cast<std::uint64_t>(source.slice) * static_cast<std::uint64_t>(job.file_rows) * job.file_row_bytes;
    }
    job.dtype = stored_dtype(binding, tensor.dtype);
    std::optional<std::uint64_t> bytes;
    if (binding.form == WeightForm::packed || binding.form == WeightForm::plain)
        bytes = packed_bytes(job.dtype, binding.rows, binding.columns);
    else if (binding.form == WeightForm::rows)
        bytes = checked_multiply(job.file_row_bytes, static_cast<std::uint64_t>(binding.rows));
    else
        bytes =
            checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(binding.rows * binding.columns), sizeof(float));
    const bool is_decoded = binding.form != WeightForm::packed || (job.dtype != tensor.dtype && source.scales.empty());
    if (!bytes || (is_decoded && decoder(tensor.dtype) == nullptr)) {
        return error(StatusCode::unsupported, "tensor ", quoted(tensor.name), " of dtype ", dtype.name, " and shape ",
                     tensor.shape.to_string(), " cannot be used for ", binding.role);
    }
    job.memory_bytes = *bytes;
    return job;
}

// What makes two bindings the same bytes in memory.
using JobKey = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool,
                          std::int64_t, std::int64_t, std::int64_t, WeightForm>;
JobKey key_of(const WeightBinding& binding) {
    const WeightSource& source = binding.source;
    return {source.tensor,   source.slice,       source.slice_count,   source.rows.begin,
            source.rows.run, source.rows.stride, source.is_transposed, source.input_begin,
            binding.rows,    binding.columns,    binding.form};
}

Result<std::vector<Job>> make_jobs(const WeightIndex& index, const std::vector<WeightBinding>& bindings) {
    std::vector<Job> jobs;
    std::map<JobKey, std::size_t> places;
    for (const WeightBinding& binding : bindings) {
        MIXTURA_ASSIGN_OR_RETURN(Job job, make_job(index, binding));
        const auto [place, is_new] = places.try_emplace(key_of(binding), jobs.size());
        if (!is_new) job.same_as = place->second;
        jobs.push_back(job);
    }
    return jobs;
}

// Rows [first, last) of the matrix as the file stores them, gathered into `out` row after row of `row_bytes`, which lie
// from `begin` on.
Status gather_rows(const File& file, const WeightBinding& binding, std::uint64_t begin, std::size_t row_bytes,
                   std::int64_t first, std::int64_t last, std::vector<std::byte>& out) {
    out.resize(static_cast<std::size_t>(last - first) * row_bytes);
    const std::int64_t from = file_row(binding, first), span = file_row(binding, last - 1) + 1 - from;
    // A pattern that skips little (every second row) is read with what it skips; else run by run.
    constexpr std::int64_t kSkippedFactor = 4;
    if (span != last - first && span <= kSkippedFactor * (last - first)) {
        std::vector<std::byte> all(static_cast<std::size_t>(span) * row_bytes);
        MIXTURA_RETURN_IF_ERROR(file.read_at(begin + static_cast<std::uint64_t>(from) * row_bytes, all));
        for (std::int64_t row = first; row < last; ++row) {
            std::memcpy(out.data() + static_cast<std::size_t>(row - first) * row_bytes,
                        all.data() + static_cast<std::size_t>(file_row(binding, row) - from) * row_bytes, row_bytes);
        }
        return {};
    }
    for (std::int64_t row = first; row < last;) {
        std::int64_t run = 1;
        while (row + run < last && file_row(binding, row + run) == file_row(binding, row) + run) ++run;
        MIXTURA_RETURN_IF_ERROR(file.read_at(begin + static_cast<std::uint64_t>(file_row(binding, row)) * row_bytes,
                                             std::span(out).subspan(static_cast<std::size_t>(row - first) * row_bytes,
                                                                    static_cast<std::size_t>(run) * row_bytes)));
        row += run;
    }
    return {};
}

// Rows of a matrix that the file stores as [in, out]: one file row an input.  Block formats become f32.
Status gather_transposed(const File& file, const Piece& piece, std::vector<std::byte>& out) {
    const Job& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const DTypeInfo& stored = dtype_info(job.tensor->dtype);
    const bool is_decoded = job.dtype != stored.dtype;
    const auto element = static_cast<std::size_t>(is_decoded ? std::int64_t{sizeof(float)} : stored.block_bytes);
    const std::int64_t row_count = piece.last_row - piece.first_row;
    out.resize(static_cast<std::size_t>(row_count * binding.columns) * element);
    std::vector<std::byte> line(static_cast<std::size_t>(job.file_row_bytes));
    const std::size_t blocks = line.size() / static_cast<std::size_t>(stored.block_bytes);
    std::vector<float> values(is_decoded ? blocks * static_cast<std::size_t>(stored.block_elements) : 0);
    const std::uint64_t begin =
        job.tensor->offset_bytes + job.slice_offset +
        static_cast<std::uint64_t>(std::max<std::int64_t>(binding.source.input_begin, 0)) * job.file_row_bytes;
    for (std::int64_t column = 0; column < binding.columns; ++column) {
        MIXTURA_RETURN_IF_ERROR(file.read_at(begin + static_cast<std::uint64_t>(column) * job.file_row_bytes, line));
        if (is_decoded) decoder(stored.dtype)(line.data(), values.data(), blocks);
        const std::byte* from = is_decoded ? reinterpret_cast<const std::byte*>(values.data()) : line.data();
        for (std::int64_t row = 0; row < row_count; ++row) {
            std::memcpy(out.data() + static_cast<std::size_t>(row * binding.columns + column) * element,
                        from + static_cast<std::size_t>(file_row(binding, piece.first_row + row)) * element, element);
        }
    }
    return {};
}

// GGUF's MXFP4 blocks (exponent, then 16 bytes whose low halves are the first 16 elements) of the two-tensor form,
// whose byte j holds elements 2j and 2j + 1.
Status gather_mxfp4(const WeightIndex& index, const Piece& piece, std::vector<std::byte>& out) {
    const Job& job = *piece.job;
    const auto row_blocks = static_cast<std::size_t>(job.file_row_bytes) / kMxCodeBytes;
    std::vector<std::byte> codes, scales;
    MIXTURA_RETURN_IF_ERROR(
        gather_rows(*index.files[job.tensor->file], *job.binding, job.tensor->offset_bytes + job.slice_offset,
                    static_cast<std::size_t>(job.file_row_bytes), piece.first_row, piece.last_row, codes));
    MIXTURA_RETURN_IF_ERROR(gather_rows(*index.files[job.scales->file], *job.binding,
                                        job.scales->offset_bytes + job.slice_offset / kMxCodeBytes, row_blocks,
                                        piece.first_row, piece.last_row, scales));
    constexpr std::size_t kBlockBytes = 1 + kMxCodeBytes;
    out.resize(scales.size() * kBlockBytes);
    for (std::size_t block = 0; block < scales.size(); ++block) {
        const std::byte* from = codes.data() + block * kMxCodeBytes;
        std::byte* to = out.data() + block * kBlockBytes;
        *to++ = scales[block];
        const auto code = [&](std::size_t i) { return i % 2 == 0 ? from[i / 2] & std::byte{0x0F} : from[i / 2] >> 4; };
        for (std::size_t i = 0; i < kMxCodeBytes; ++i) to[i] = code(i) | (code(i + kMxCodeBytes) << 4);
    }
    return {};
}

Status load_piece(const WeightIndex& index, const Piece& piece) {
    const Job& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const File& file = *index.files[job.tensor->file];
    const std::int64_t row_count = piece.last_row - piece.first_row;
    const DTypeInfo& dtype = dtype_info(job.tensor->dtype);
    std::vector<std::byte> rows;
    if (job.scales != nullptr)
        MIXTURA_RETURN_IF_ERROR(gather_mxfp4(index, piece, rows));
    else if (binding.source.is_transposed)
        MIXTURA_RETURN_IF_ERROR(gather_transposed(file, piece, rows));
    else
        MIXTURA_RETURN_IF_ERROR(gather_rows(file, binding, job.tensor->offset_bytes + job.slice_offset,
                                            static_cast<std::size_t>(job.file_row_bytes), piece.first_row,
                                            piece.last_row, rows));
    const bool is_to_decode = !binding.source.is_transposed && job.scales == nullptr && job.dtype != dtype.dtype;
    switch (binding.form) {
        case WeightForm::packed:
        case WeightForm::plain: {
            if (is_to_decode) {
                std::vector<std::byte> values(static_cast<std::size_t>(row_count * binding.columns) * sizeof(float));
                decoder(dtype.dtype)(rows.data(), reinterpret_cast<float*>(values.data()),
                                     static_cast<std::size_t>(row_count * binding.columns / dtype.block_elements));
                rows.swap(values);
            }
            pack_rows(job.dtype, rows.data(), row_count, binding.columns,
                      job.memory + piece.first_row / kPanelRows * panel_bytes(job.dtype, binding.columns));
            break;
        }
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

void hand_out_views(const std::vector<Job>& jobs) {
    for (const Job& job : jobs) {
        const WeightBinding& binding = *job.binding;
        const std::byte* memory = job.same_as ? jobs[*job.same_as].memory : job.memory;
        if (binding.floats != nullptr) *binding.floats = reinterpret_cast<const float*>(memory);
        if (binding.matrix != nullptr) *binding.matrix = {job.dtype, binding.rows, binding.columns, memory};
    }
}

// Matrices that are bound one behind another (an expert's gate, up and down; a layer) lie so in memory.
constexpr std::uint64_t kArenaBytes = 256 << 20, kLineBytes = AlignedBuffer::kAlignmentBytes;

}  // namespace

Result<std::vector<std::uint64_t>> WeightStore::predicted_bytes(const WeightIndex& index,
                                                                const std::vector<WeightBinding>& bindings) {
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<Job> jobs, make_jobs(index, bindings));
    std::vector<std::uint64_t> bytes;
    for (const Job& job : jobs) bytes.push_back(job.same_as ? 0 : job.memory_bytes);
    return bytes;
}

template <class Jobs>
Status WeightStore::place(Jobs& jobs) {
    for (auto first = jobs.begin(); first != jobs.end();) {
        std::uint64_t bytes = 0;
        auto last = first;
        for (; last != jobs.end(); ++last) {
            const std::uint64_t more =
                last->same_as ? 0 : (last->memory_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
            if (bytes > 0 && bytes + more > kArenaBytes) break;
            bytes += more;
        }
        MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer arena, AlignedBuffer::allocate(bytes));
        std::byte* next = arena.data();
        for (; first != last; ++first) {
            if (first->same_as) continue;
            first->memory = next;
            next += (first->memory_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
            size_bytes_ += first->memory_bytes;
        }
        buffers_.push_back(std::move(arena));
    }
    return {};
}

Result<WeightStore> WeightStore::load(const WeightIndex& index, const std::vector<WeightBinding>& bindings,
                                      ParallelFor& threads, const LoadProgress& progress) {
    MIXTURA_ASSIGN_OR_RETURN(std::vector<Job> jobs, make_jobs(index, bindings));
    WeightStore store;
    MIXTURA_RETURN_IF_ERROR(store.place(jobs));
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
