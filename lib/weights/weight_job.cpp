#include "weights/weight_job.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/decode.hpp"

namespace mixtura {
namespace {

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
    // A convolution a channel: [channels, 1, taps].
    if (axes.size() == 3 && axes[1] == 1) return std::pair{axes[0], axes[2]};
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

Result<const TensorInfo*> find_tensor(const WeightIndex& index, const WeightBinding& binding, const std::string& name) {
    const TensorInfo* tensor = index.find(name);
    if (tensor != nullptr) return tensor;
    return error(StatusCode::corrupt_file, "the model has no tensor ", quoted(name), ", needed for ", binding.role);
}

double element_bits(DType dtype) noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    return 8.0 * static_cast<double>(info.block_bytes) / static_cast<double>(info.block_elements);
}

// 8-bit floats whose matrix lies the other way round: a block format still where the scales of a file's column, which
// is a row here, serve whole blocks.
DType turned_f8(const WeightBinding& binding, const PackedTensor& packed) noexcept {
    if (binding.form != WeightForm::packed || binding.source.input_begin >= 0) return DType::f32;
    for (const DType dtype : {DType::f8_e4m3_128, DType::f8_e4m3_32}) {
        const std::int64_t unit = dtype_info(dtype).block_elements, run = packed.block_rows;
        if (binding.columns % unit == 0 && (run % unit == 0 || run >= packed.slice_rows)) return dtype;
    }
    return DType::f32;
}

// The dtype in memory: the file's, but f32 where the file's cannot be had in that form.
DType stored_dtype(const WeightBinding& binding, DType file_dtype, const PackedTensor* packed) {
    if (packed != nullptr && packed->scheme == PackedTensor::Scheme::block_f8 && binding.source.is_transposed) {
        const DType turned = turned_f8(binding, *packed);
        if (turned != DType::f32) return turned;
    }
    const bool is_block = dtype_info(file_dtype).block_elements != 1;
    if (!binding.source.scales.empty()) return DType::mxfp4;
    if (binding.form == WeightForm::floats) return DType::f32;
    if (binding.form == WeightForm::plain && panel_kind(file_dtype) != PanelKind::plain) return DType::f32;
    if (is_block && binding.source.is_transposed) return DType::f32;
    return settled_target(binding.wanted, file_dtype, binding.columns);
}

Result<WeightJob> make_job(const WeightIndex& index, const WeightBinding& binding) {
    const WeightSource& source = binding.source;
    WeightJob job;
    job.binding = &binding;
    MIXTURA_ASSIGN_OR_RETURN(job.tensor, find_tensor(index, binding, source.tensor));
    const TensorInfo& tensor = *job.tensor;
    const auto packed = index.packed.find(tensor.name);
    if (packed != index.packed.end()) job.packed = &packed->second;
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
    job.dtype = stored_dtype(binding, tensor.dtype, job.packed);
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
    if (job.packed == nullptr || !job.packed->is_ordered) return job;
    if (binding.form == WeightForm::rows || binding.columns > kOrderedColumnsMax) {
        return error(StatusCode::unsupported, "tensor ", quoted(tensor.name), " of shape ", tensor.shape.to_string(),
                     " is in activation order and cannot be used for ", binding.role, ", expected at most ",
                     kOrderedColumnsMax, " inputs and no table of rows");
    }
    if (job.dtype == tensor.dtype && binding.form == WeightForm::packed)
        job.order_bytes = static_cast<std::uint64_t>(binding.columns) * sizeof(std::int32_t);
    return job;
}

// What makes two bindings the same bytes in memory.
using JobKey = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool,
                          std::int64_t, std::int64_t, std::int64_t, WeightForm, DType, float>;
JobKey key_of(const WeightBinding& binding) {
    const WeightSource& source = binding.source;
    return {source.tensor,      source.slice,         source.slice_count, source.rows.begin, source.rows.run,
            source.rows.stride, source.is_transposed, source.input_begin, binding.rows,      binding.columns,
            binding.form,       binding.wanted,       binding.added};
}

// What a matrix gets whose columns the wanted blocks do not divide; a form that follows itself stands above it.
constexpr std::pair<DType, DType> kSmallerBlocks[] = {{DType::q4_k, DType::q5_0},
                                                      {DType::q5_k, DType::q5_1},
                                                      {DType::q6_k, DType::q8_0},
                                                      {DType::int4_128, DType::int4_64},
                                                      {DType::int4_64, DType::int4_32},
                                                      {DType::nf4, DType::q5_0},
                                                      {DType::f8_e4m3_128, DType::f8_e4m3_32}};

}  // namespace

DType settled_target(DType wanted, DType file, std::int64_t columns) noexcept {
    if (file != DType::f32 && file != DType::f16 && file != DType::bf16) return file;
    const auto fits_columns = [columns](DType dtype) { return columns % dtype_info(dtype).block_elements == 0; };
    for (const auto& [larger, smaller] : kSmallerBlocks) {
        if (wanted == larger && !fits_columns(wanted)) wanted = smaller;
    }
    const bool fits = wanted != DType::unknown && fits_columns(wanted);
    return fits && element_bits(wanted) < element_bits(file) ? wanted : file;
}

std::int64_t file_row(const WeightBinding& binding, std::int64_t row) noexcept {
    const RowPattern& rows = binding.source.rows;
    return rows.run == 0 ? rows.begin + row : rows.begin + row / rows.run * rows.stride + row % rows.run;
}

Result<std::vector<WeightJob>> make_weight_jobs(const WeightIndex& index, const std::vector<WeightBinding>& bindings) {
    std::vector<WeightJob> jobs;
    std::map<JobKey, std::size_t> places;
    for (const WeightBinding& binding : bindings) {
        MIXTURA_ASSIGN_OR_RETURN(WeightJob job, make_job(index, binding));
        const auto [place, is_new] = places.try_emplace(key_of(binding), jobs.size());
        if (!is_new) job.same_as = place->second;
        jobs.push_back(job);
    }
    return jobs;
}

}  // namespace mixtura
