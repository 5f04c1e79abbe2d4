#include "weights/piece_loader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/machine.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/encode.hpp"
#include "weights/packed_rows.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kLossRun = 4096;        // elements decoded at a time: a multiple of every block
constexpr std::size_t kChunkBytes = 4 << 20;  // of a transposed tensor at a time
// Rows of a weight in several tensors at a time, whole panels: their words lie in a cache line of the file's codes.
constexpr std::int64_t kStripRows = 128;
// A file of an eighth of the memory or more would push everything else out of the page cache on its way through.
constexpr std::uint64_t kDirectShare = 8;

Status grow(AlignedBuffer& buffer, std::uint64_t size_bytes) {
    if (buffer.size_bytes() >= size_bytes) return {};
    buffer = {};
    MIXTURA_ASSIGN_OR_RETURN(buffer, AlignedBuffer::allocate(size_bytes));
    return {};
}

void measure_loss(std::span<const float> values, DType to, const std::byte* codes, QuantisationLoss& loss) {
    const DTypeInfo& dtype = dtype_info(to);
    loss.to = to;
    std::array<float, kLossRun> back;
    for (std::size_t first = 0; first < values.size(); first += kLossRun) {
        const std::size_t count = std::min(kLossRun, values.size() - first);
        const std::size_t block = first / static_cast<std::size_t>(dtype.block_elements);
        decoder(to)(codes + block * static_cast<std::size_t>(dtype.block_bytes), back.data(),
                    count / static_cast<std::size_t>(dtype.block_elements));
        for (std::size_t i = 0; i < count; ++i) {
            const double value = values[first + i], difference = value - static_cast<double>(back[i]);
            loss.error_sum += difference * difference;
            loss.square_sum += value * value;
            loss.largest = std::max(loss.largest, std::abs(difference));
        }
    }
}

// `count` rows of type `from` as type `to`, which is f32 or one with an encoder.
Result<const std::byte*> converted(const std::byte* rows, DType from, DType to, std::int64_t count,
                                   std::int64_t columns, PieceScratch& scratch, QuantisationLoss* loss) {
    const auto elements = static_cast<std::size_t>(count * columns);
    if (from != DType::f32) {
        MIXTURA_RETURN_IF_ERROR(grow(scratch.values, elements * sizeof(float)));
        decoder(from)(rows, reinterpret_cast<float*>(scratch.values.data()),
                      elements / static_cast<std::size_t>(dtype_info(from).block_elements));
        rows = scratch.values.data();
    }
    if (to == DType::f32) return rows;
    const auto blocks = elements / static_cast<std::size_t>(dtype_info(to).block_elements);
    MIXTURA_RETURN_IF_ERROR(grow(scratch.codes, blocks * static_cast<std::size_t>(dtype_info(to).block_bytes)));
    const auto* values = reinterpret_cast<const float*>(rows);
    encoder(to)(values, scratch.codes.data(), blocks);
    if (loss != nullptr) measure_loss({values, elements}, to, scratch.codes.data(), *loss);
    return scratch.codes.data();
}

}  // namespace

PieceLoader::PieceLoader(const WeightIndex& index) {
    const std::uint64_t direct_from = physical_memory_bytes() / kDirectShare;
    for (const auto& file : index.files) readers_.push_back(std::make_unique<PieceReader>(file, direct_from));
}

Result<const std::byte*> PieceLoader::gather(const PieceReader& reader, const WeightBinding& binding,
                                             std::uint64_t begin, std::size_t row_bytes, std::int64_t first,
                                             std::int64_t last, AlignedBuffer& buffer, AlignedBuffer& rows) const {
    const std::int64_t from = file_row(binding, first), span = file_row(binding, last - 1) + 1 - from;
    const auto read = [&](std::int64_t row, std::int64_t count) {
        return reader.read(begin + static_cast<std::uint64_t>(row) * row_bytes,
                           static_cast<std::size_t>(count) * row_bytes, buffer);
    };
    if (span == last - first) {
        MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> all, read(from, span));
        return all.data();
    }
    MIXTURA_RETURN_IF_ERROR(grow(rows, static_cast<std::uint64_t>(last - first) * row_bytes));
    // A pattern that skips little (every second row) is read with what it skips; else run by run.
    constexpr std::int64_t kSkippedFactor = 4;
    if (span <= kSkippedFactor * (last - first)) {
        MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> all, read(from, span));
        for (std::int64_t row = first; row < last; ++row) {
            std::memcpy(rows.data() + static_cast<std::size_t>(row - first) * row_bytes,
                        all.data() + static_cast<std::size_t>(file_row(binding, row) - from) * row_bytes, row_bytes);
        }
        return rows.data();
    }
    for (std::int64_t row = first; row < last;) {
        std::int64_t run = 1;
        while (row + run < last && file_row(binding, row + run) == file_row(binding, row) + run) ++run;
        MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> part, read(file_row(binding, row), run));
        std::memcpy(rows.data() + static_cast<std::size_t>(row - first) * row_bytes, part.data(), part.size());
        row += run;
    }
    return rows.data();
}

// Rows of a matrix that the file stores as [in, out]: one file row an input.  Block formats become f32.
Result<const std::byte*> PieceLoader::gather_transposed(const WeightPiece& piece, PieceScratch& scratch) const {
    const WeightJob& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const DTypeInfo& stored = dtype_info(job.tensor->dtype);
    const bool is_decoded = job.dtype != stored.dtype;
    const auto element = static_cast<std::size_t>(is_decoded ? std::int64_t{sizeof(float)} : stored.block_bytes);
    const std::int64_t row_count = piece.last_row - piece.first_row;
    const auto line_bytes = static_cast<std::size_t>(job.file_row_bytes);
    const std::size_t blocks = line_bytes / static_cast<std::size_t>(stored.block_bytes);
    MIXTURA_RETURN_IF_ERROR(grow(scratch.rows, static_cast<std::uint64_t>(row_count * binding.columns) * element));
    std::vector<float> values(is_decoded ? blocks * static_cast<std::size_t>(stored.block_elements) : 0);
    const std::uint64_t begin =
        job.tensor->offset_bytes + job.slice_offset +
        static_cast<std::uint64_t>(std::max<std::int64_t>(binding.source.input_begin, 0)) * job.file_row_bytes;
    const std::int64_t at_once =
        std::max<std::int64_t>(static_cast<std::int64_t>(kChunkBytes / std::max<std::size_t>(line_bytes, 1)), 1);
    for (std::int64_t first = 0; first < binding.columns; first += at_once) {
        const std::int64_t count = std::min(at_once, binding.columns - first);
        MIXTURA_ASSIGN_OR_RETURN(
            const std::span<const std::byte> lines,
            readers_[job.tensor->file]->read(begin + static_cast<std::uint64_t>(first) * line_bytes,
                                             static_cast<std::size_t>(count) * line_bytes, scratch.file));
        for (std::int64_t i = 0; i < count; ++i) {
            const std::byte* from = lines.data() + static_cast<std::size_t>(i) * line_bytes;
            if (is_decoded) {
                decoder(stored.dtype)(from, values.data(), blocks);
                from = reinterpret_cast<const std::byte*>(values.data());
            }
            std::byte* to = scratch.rows.data() + static_cast<std::size_t>(first + i) * element;
            for (std::int64_t row = 0; row < row_count; ++row) {
                std::memcpy(to + static_cast<std::size_t>(row * binding.columns) * element,
                            from + static_cast<std::size_t>(file_row(binding, piece.first_row + row)) * element,
                            element);
            }
        }
    }
    return scratch.rows.data();
}

// GGUF's MXFP4 blocks (exponent, then 16 bytes whose low halves are the first 16 elements) of the two-tensor form,
// whose byte j holds elements 2j and 2j + 1.
Result<const std::byte*> PieceLoader::gather_mxfp4(const WeightPiece& piece, PieceScratch& scratch) const {
    const WeightJob& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const auto code_bytes = static_cast<std::size_t>(job.file_row_bytes), row_blocks = code_bytes / kMxCodeBytes;
    AlignedBuffer code_rows, scale_rows;
    MIXTURA_ASSIGN_OR_RETURN(const std::byte* codes,
                             gather(*readers_[job.tensor->file], binding, job.tensor->offset_bytes + job.slice_offset,
                                    code_bytes, piece.first_row, piece.last_row, scratch.file, code_rows));
    MIXTURA_ASSIGN_OR_RETURN(
        const std::byte* scales,
        gather(*readers_[job.scales->file], binding, job.scales->offset_bytes + job.slice_offset / kMxCodeBytes,
               row_blocks, piece.first_row, piece.last_row, scratch.scales, scale_rows));
    constexpr std::size_t kBlockBytes = 1 + kMxCodeBytes;
    const std::size_t block_count = static_cast<std::size_t>(piece.last_row - piece.first_row) * row_blocks;
    MIXTURA_RETURN_IF_ERROR(grow(scratch.rows, block_count * kBlockBytes));
    for (std::size_t block = 0; block < block_count; ++block) {
        const std::byte* from = codes + block * kMxCodeBytes;
        std::byte* to = scratch.rows.data() + block * kBlockBytes;
        *to++ = scales[block];
        const auto code = [&](std::size_t i) { return i % 2 == 0 ? from[i / 2] & std::byte{0x0F} : from[i / 2] >> 4; };
        for (std::size_t i = 0; i < kMxCodeBytes; ++i) to[i] = code(i) | (code(i + kMxCodeBytes) << 4);
    }
    return scratch.rows.data();
}

namespace {

// Rows [piece.first_row, piece.last_row), which are of type `have`, into the memory of their job.
Status store(const WeightPiece& piece, const std::byte* rows, DType have, PieceScratch& scratch,
             QuantisationLoss* loss) {
    const WeightJob& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const std::int64_t row_count = piece.last_row - piece.first_row;
    const auto row_bytes = static_cast<std::size_t>(job.file_row_bytes);
    switch (binding.form) {
        case WeightForm::packed:
        case WeightForm::plain: {
            if (have != job.dtype) {
                MIXTURA_ASSIGN_OR_RETURN(rows,
                                         converted(rows, have, job.dtype, row_count, binding.columns, scratch, loss));
                if (loss != nullptr) loss->from = job.tensor->dtype;
            }
            pack_rows(job.memory, job.dtype, rows, piece.first_row, piece.last_row, binding.columns);
            break;
        }
        case WeightForm::rows:
            std::memcpy(job.memory.data + static_cast<std::size_t>(piece.first_row) * row_bytes, rows,
                        static_cast<std::size_t>(row_count) * row_bytes);
            break;
        case WeightForm::floats: {
            float* const to = reinterpret_cast<float*>(job.memory.data) + piece.first_row * binding.columns;
            const std::int64_t count = row_count * binding.columns;
            decoder(have)(rows, to, static_cast<std::size_t>(count / dtype_info(have).block_elements));
            if (binding.added != 0.0F)
                for (std::int64_t i = 0; i < count; ++i) to[i] += binding.added;
            break;
        }
    }
    return {};
}

// The row of the whole tensor where the job's slice begins.
std::int64_t slice_row(const WeightJob& job) noexcept {
    return job.file_row_bytes == 0 ? 0 : static_cast<std::int64_t>(job.slice_offset / job.file_row_bytes);
}

}  // namespace

// A strip at a time, so that beside the codes of the file little else is held.
Status PieceLoader::load_packed(const WeightPiece& piece, PieceScratch& scratch, QuantisationLoss* loss) const {
    const WeightJob& job = *piece.job;
    std::vector<std::int64_t> rows;
    for (std::int64_t row = piece.first_row; row < piece.last_row; ++row)
        rows.push_back(slice_row(job) + file_row(*job.binding, row));
    MIXTURA_ASSIGN_OR_RETURN(const PackedRows source, PackedRows::read(readers_, *job.packed, *job.tensor, rows.front(),
                                                                       rows.back() + 1, scratch.file, scratch.scales));
    if (job.order != nullptr) std::copy(source.order().begin(), source.order().end(), job.order);
    // Whoever knows no order gets the columns as the inputs are.
    const bool is_decoded = job.packed->is_ordered && job.order == nullptr;
    for (std::int64_t first = 0; first < std::ssize(rows); first += kStripRows) {
        const std::int64_t count = std::min(kStripRows, std::ssize(rows) - first);
        MIXTURA_RETURN_IF_ERROR(grow(scratch.rows, static_cast<std::uint64_t>(count) * job.file_row_bytes));
        const auto some = std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        const WeightPiece strip{&job, piece.job_index, piece.first_row + first, piece.first_row + first + count};
        if (is_decoded) {
            std::vector<float> values(some.size() * static_cast<std::size_t>(job.binding->columns));
            source.decode(some, scratch.rows.data(), values.data());
            const auto* decoded = reinterpret_cast<const std::byte*>(values.data());
            MIXTURA_RETURN_IF_ERROR(store(strip, decoded, DType::f32, scratch, loss));
            continue;
        }
        source.fill(some, scratch.rows.data());
        MIXTURA_RETURN_IF_ERROR(store(strip, scratch.rows.data(), job.tensor->dtype, scratch, loss));
    }
    return {};
}

// Rows of the matrix are columns of the file's: decoded strip by strip, then turned; 8-bit floats are turned as they
// are.
Status PieceLoader::load_packed_transposed(const WeightPiece& piece, PieceScratch& scratch,
                                           QuantisationLoss* loss) const {
    const WeightJob& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    const std::int64_t begin = slice_row(job) + std::max<std::int64_t>(binding.source.input_begin, 0);
    const DTypeInfo& dtype = dtype_info(job.tensor->dtype);
    const std::int64_t blocks = static_cast<std::int64_t>(job.file_row_bytes) / dtype.block_bytes,
                       width = blocks * dtype.block_elements, row_count = piece.last_row - piece.first_row;
    MIXTURA_ASSIGN_OR_RETURN(const PackedRows source,
                             PackedRows::read(readers_, *job.packed, *job.tensor, begin, begin + binding.columns,
                                              scratch.file, scratch.scales));
    if (panel_kind(job.dtype) == PanelKind::scaled) {
        const DTypeInfo& kept = dtype_info(job.dtype);
        const auto row_bytes = static_cast<std::uint64_t>(binding.columns / kept.block_elements * kept.block_bytes);
        MIXTURA_RETURN_IF_ERROR(grow(scratch.rows, static_cast<std::uint64_t>(kStripRows) * row_bytes));
        for (std::int64_t first = piece.first_row; first < piece.last_row; first += kStripRows) {
            const WeightPiece strip{&job, piece.job_index, first, std::min(first + kStripRows, piece.last_row)};
            std::vector<std::int64_t> columns;
            for (std::int64_t row = first; row < strip.last_row; ++row) columns.push_back(file_row(binding, row));
            source.fill_turned(columns, begin, binding.columns, job.dtype, scratch.rows.data());
            MIXTURA_RETURN_IF_ERROR(store(strip, scratch.rows.data(), job.dtype, scratch, loss));
        }
        return {};
    }
    std::vector<float> turned(static_cast<std::size_t>(row_count * binding.columns)),
        values(static_cast<std::size_t>(kStripRows * width));
    MIXTURA_RETURN_IF_ERROR(grow(scratch.rows, static_cast<std::uint64_t>(kStripRows) * job.file_row_bytes));
    for (std::int64_t first = 0; first < binding.columns; first += kStripRows) {
        std::vector<std::int64_t> rows;
        for (std::int64_t i = first; i < std::min(first + kStripRows, binding.columns); ++i) rows.push_back(begin + i);
        source.decode(rows, scratch.rows.data(), values.data());
        for (std::int64_t row = 0; row < row_count; ++row) {
            const float* from = values.data() + file_row(binding, piece.first_row + row);
            float* to = turned.data() + row * binding.columns + first;
            for (std::int64_t i = 0; i < std::ssize(rows); ++i) to[i] = from[i * width];
        }
    }
    return store(piece, reinterpret_cast<const std::byte*>(turned.data()), DType::f32, scratch, loss);
}

Status PieceLoader::load(const WeightPiece& piece, PieceScratch& scratch, QuantisationLoss* loss) const {
    const WeightJob& job = *piece.job;
    const WeightBinding& binding = *job.binding;
    if (job.packed != nullptr) {
        return binding.source.is_transposed ? load_packed_transposed(piece, scratch, loss)
                                            : load_packed(piece, scratch, loss);
    }
    Result<const std::byte*> gathered =
        job.scales != nullptr ? gather_mxfp4(piece, scratch)
        : binding.source.is_transposed
            ? gather_transposed(piece, scratch)
            : gather(*readers_[job.tensor->file], binding, job.tensor->offset_bytes + job.slice_offset,
                     static_cast<std::size_t>(job.file_row_bytes), piece.first_row, piece.last_row, scratch.file,
                     scratch.rows);
    MIXTURA_ASSIGN_OR_RETURN(const std::byte* rows, std::move(gathered));
    // Transposed rows of another type than the file's are f32 already.
    const bool is_decoded = binding.source.is_transposed && job.dtype != job.tensor->dtype;
    const DType have = job.scales != nullptr ? job.dtype : is_decoded ? DType::f32 : job.tensor->dtype;
    return store(piece, rows, have, scratch, loss);
}

}  // namespace mixtura
