#include "weights/packed_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "kernels/quant/blocks.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/half.hpp"

namespace mixtura {
namespace {

using Scheme = PackedTensor::Scheme;
using Readers = std::span<const std::unique_ptr<PieceReader>>;

// Where AWQ keeps output i of eight, as a shift: outputs 0, 2, 4, 6, 1, 3, 5, 7 follow each other.
constexpr unsigned kAwqShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

Result<std::span<const std::byte>> read_all(Readers readers, const TensorInfo& tensor, AlignedBuffer& scratch) {
    return readers[tensor.file]->read(tensor.offset_bytes, static_cast<std::size_t>(tensor.size_bytes), scratch);
}

// Elements [first, first + count) of a tensor of a plain float type.
Status append_floats(const PieceReader& reader, const TensorInfo& tensor, std::int64_t first, std::int64_t count,
                     AlignedBuffer& scratch, std::vector<float>& out) {
    const std::int64_t bytes = dtype_info(tensor.dtype).block_bytes;
    MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> stored,
                             reader.read(tensor.offset_bytes + static_cast<std::uint64_t>(first * bytes),
                                         static_cast<std::size_t>(count * bytes), scratch));
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(count));
    decoder(tensor.dtype)(stored.data(), out.data() + before, static_cast<std::size_t>(count));
    return {};
}

// Each scale as the f16 it is; a wider file type may hold what an f16 would round.
Status to_halves(const TensorInfo& tensor, std::span<const float> scales, std::vector<std::uint16_t>& halves) {
    halves.reserve(scales.size());
    for (const float scale : scales) {
        halves.push_back(f32_to_f16(scale));
        if (std::isnan(scale) || f32_bits(f16_to_f32(halves.back())) == f32_bits(scale)) continue;
        return error(StatusCode::unsupported, "tensor ", quoted(tensor.name), ": element ", halves.size() - 1, " is ",
                     scale, ", expected scales that an f16 holds exactly");
    }
    return {};
}

// The inputs group by group, those of a group ascending: `order` [in].
Status sort_groups(const PackedTensor& packed, std::span<const std::byte> stored, std::int64_t in,
                   std::vector<std::int32_t>& order) {
    const TensorInfo& tensor = packed.groups;
    const std::int64_t size = packed.block_columns, groups = (in + size - 1) / size;
    std::vector<std::int64_t> next;
    for (std::int64_t group = 0; group < groups; ++group) next.push_back(group * size);
    order.resize(static_cast<std::size_t>(in));
    for (std::int64_t i = 0; i < in; ++i) {
        const auto group =
            static_cast<std::int32_t>(load_field<Le32>(stored.data(), static_cast<std::size_t>(i)).value());
        if (group < 0 || group >= groups) {
            return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), ": input ", i, " is in group ",
                         group, ", expected 0 to ", groups - 1);
        }
        if (!packed.is_ordered && group != i / size) {
            return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), ": input ", i, " is in group ",
                         group, ", expected ", i / size, " since the configuration does not say desc_act");
        }
        std::int64_t& place = next[static_cast<std::size_t>(group)];
        if (place == std::min((group + 1) * size, in)) {
            return error(StatusCode::unsupported, "tensor ", quoted(tensor.name), ": input ", i, " is in group ", group,
                         ", which has ", place - group * size, " already, expected groups of ", size);
        }
        order[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(i);
    }
    return {};
}

}  // namespace

// The scales of blocks that rows [first, last) touch, or of all.
Status PackedRows::read_scales(const PieceReader& reader, std::int64_t first, std::int64_t last,
                               AlignedBuffer& scratch) {
    const TensorInfo& tensor = packed_->scales;
    std::int64_t count = tensor.shape.element_count();
    if (packed_->is_bnb_4bit()) {
        const std::int64_t per_row = in_ / packed_->block_columns;
        first_scale_ = first * per_row;
        count = (last - first) * per_row;
    }
    if (packed_->scheme == Scheme::block_f8) {  // of whole slices
        const std::int64_t slice = first / packed_->slice_rows;
        first_scale_ = slice * slice_scales();
        count = ((last - 1) / packed_->slice_rows + 1 - slice) * slice_scales();
    }
    return append_floats(reader, tensor, first_scale_, count, scratch, scales_);
}

// absmax[b] = map[code] · nested[b / nested_block] + offset, rounded after each step.
Status PackedRows::read_nested_scales(Readers readers, std::int64_t first, std::int64_t last, AlignedBuffer& scratch) {
    const PackedTensor& p = *packed_;
    std::vector<float> map, nested;
    MIXTURA_RETURN_IF_ERROR(
        append_floats(*readers[p.nested_map.file], p.nested_map, 0, p.nested_map.shape.element_count(), scratch, map));
    MIXTURA_RETURN_IF_ERROR(append_floats(*readers[p.nested_scales.file], p.nested_scales, 0,
                                          p.nested_scales.shape.element_count(), scratch, nested));
    const std::int64_t per_row = in_ / p.block_columns, count = (last - first) * per_row;
    first_scale_ = first * per_row;
    MIXTURA_ASSIGN_OR_RETURN(
        const std::span<const std::byte> codes,
        readers[p.scales.file]->read(p.scales.offset_bytes + static_cast<std::uint64_t>(first_scale_),
                                     static_cast<std::size_t>(count), scratch));
    for (std::int64_t i = 0; i < count; ++i) {
        const float product = map[std::to_integer<std::size_t>(codes[static_cast<std::size_t>(i)])] *
                              nested[static_cast<std::size_t>((first_scale_ + i) / p.nested_block)];
        scales_.push_back(product + p.nested_offset);
    }
    return {};
}

Status PackedRows::read_zeros(Readers readers, AlignedBuffer& scratch) {
    MIXTURA_RETURN_IF_ERROR(to_halves(packed_->scales, scales_, halves_));
    MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> zeros, read_all(readers, packed_->zeros, scratch));
    zeros_.assign(zeros.begin(), zeros.end());
    if (packed_->groups.name.empty()) return {};
    MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> groups, read_all(readers, packed_->groups, scratch));
    return sort_groups(*packed_, groups, in_, order_);
}

Result<PackedRows> PackedRows::read(Readers readers, const PackedTensor& packed, const TensorInfo& weight,
                                    std::int64_t first, std::int64_t last, AlignedBuffer& codes,
                                    AlignedBuffer& scratch) {
    PackedRows rows;
    rows.packed_ = &packed;
    rows.dtype_ = weight.dtype;
    const std::size_t rank = weight.shape.rank();
    rows.out_ = weight.shape[rank - 2] * (rank == 3 ? weight.shape[0] : 1);
    rows.in_ = weight.shape[rank - 1];
    if (packed.is_nested()) {
        MIXTURA_RETURN_IF_ERROR(rows.read_nested_scales(readers, first, last, scratch));
    } else {
        MIXTURA_RETURN_IF_ERROR(rows.read_scales(*readers[packed.scales.file], first, last, scratch));
    }
    if (packed.is_across()) {
        MIXTURA_RETURN_IF_ERROR(rows.read_zeros(readers, scratch));
        MIXTURA_ASSIGN_OR_RETURN(const std::span<const std::byte> all, read_all(readers, packed.codes, codes));
        rows.codes_ = all.data();
        return rows;
    }
    const std::int64_t row_bytes = packed.is_bnb_4bit() ? rows.in_ / 2 : rows.in_;
    MIXTURA_ASSIGN_OR_RETURN(
        const std::span<const std::byte> some,
        readers[packed.codes.file]->read(packed.codes.offset_bytes + static_cast<std::uint64_t>(first * row_bytes),
                                         static_cast<std::size_t>((last - first) * row_bytes), codes));
    rows.first_ = first;
    rows.codes_ = some.data();
    return rows;
}

void PackedRows::fill(std::span<const std::int64_t> rows, std::byte* out) const noexcept {
    if (packed_->is_across()) return fill_int4(rows, out);
    const DTypeInfo& info = dtype_info(dtype_);
    const std::int64_t row_bytes = in_ / info.block_elements * info.block_bytes;
    for (const std::int64_t row : rows) {
        switch (packed_->scheme) {
            case Scheme::nf4: fill_nf4(row, out); break;
            case Scheme::fp4: fill_fp4(row, out); break;
            case Scheme::int8: fill_int8(row, out); break;
            default: fill_f8(row, out);
        }
        out += row_bytes;
    }
}

void PackedRows::decode(std::span<const std::int64_t> rows, std::byte* codes, float* out) const {
    const DTypeInfo& info = dtype_info(dtype_);
    fill(rows, codes);
    decoder(dtype_)(codes, out, rows.size() * static_cast<std::size_t>(in_ / info.block_elements));
    if (!packed_->is_ordered) return;
    std::vector<float> sorted(static_cast<std::size_t>(in_));
    for (std::size_t row = 0; row < rows.size(); ++row, out += in_) {
        std::copy_n(out, in_, sorted.begin());
        for (std::size_t i = 0; i < sorted.size(); ++i) out[order_[i]] = sorted[i];
    }
}

std::int64_t PackedRows::row_scales() const noexcept {
    return (in_ + packed_->block_columns - 1) / packed_->block_columns;
}
std::int64_t PackedRows::slice_scales() const noexcept {
    return (packed_->slice_rows + packed_->block_rows - 1) / packed_->block_rows * row_scales();
}
const float* PackedRows::f8_scales(std::int64_t row) const noexcept {
    const std::int64_t slice = row / packed_->slice_rows, within = row % packed_->slice_rows;
    return scales_.data() + slice * slice_scales() + within / packed_->block_rows * row_scales() - first_scale_;
}

// Blocks outside, columns inside: neighbouring columns lie in the same cache lines.
void PackedRows::fill_turned(std::span<const std::int64_t> columns, std::int64_t first, std::int64_t count, DType dtype,
                             std::byte* out) const noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    const std::int64_t unit = info.block_elements, row_bytes = count / unit * info.block_bytes;
    for (std::int64_t k = 0; k < count; k += unit) {
        const float* scales = f8_scales(first + k);
        const std::byte* codes = codes_ + (first + k - first_) * in_;
        std::byte* block = out + k / unit * info.block_bytes;
        for (const std::int64_t column : columns) {
            store_field(block, 0, Le32::from(f32_bits(scales[column / packed_->block_columns])));
            for (std::int64_t i = 0; i < unit; ++i)
                block[static_cast<std::int64_t>(sizeof(Le32)) + i] = codes[i * in_ + column];
            block += row_bytes;
        }
    }
}

void PackedRows::fill_f8(std::int64_t row, std::byte* out) const noexcept {
    const float* scales = f8_scales(row);
    const std::byte* codes = codes_ + (row - first_) * in_;
    if (dtype_ == DType::f32) {
        for (std::int64_t i = 0; i < in_; ++i) {
            const float value = f8_e4m3_to_f32(std::to_integer<std::uint8_t>(codes[i]));
            store_field(out, static_cast<std::size_t>(i),
                        Le32::from(f32_bits(value * scales[i / packed_->block_columns])));
        }
        return;
    }
    const std::int64_t unit = dtype_info(dtype_).block_elements;
    for (std::int64_t i = 0; i < in_; i += unit) {
        store_field(out, 0, Le32::from(f32_bits(scales[i / packed_->block_columns])));
        std::memcpy(out + sizeof(Le32), codes + i, static_cast<std::size_t>(unit));
        out += static_cast<std::int64_t>(sizeof(Le32)) + unit;
    }
}

void PackedRows::fill_nf4(std::int64_t row, std::byte* out) const noexcept {
    const std::int64_t per_row = in_ / packed_->block_columns;
    const float* scales = scales_.data() + row * per_row - first_scale_;
    const std::byte* codes = codes_ + (row - first_) * (in_ / 2);
    constexpr auto kUnit = static_cast<std::int64_t>(BlockNf4::kElements);
    for (std::int64_t i = 0; i < in_; i += kUnit) {
        BlockNf4 block;
        block.scale = Le32::from(f32_bits(scales[i / packed_->block_columns]));
        std::memcpy(block.qs, codes + i / 2, sizeof block.qs);
        store_field(out, static_cast<std::size_t>(i / kUnit), block);
    }
}

// 8-bit floats of twelfths.
void PackedRows::fill_fp4(std::int64_t row, std::byte* out) const noexcept {
    constexpr std::uint8_t kE4m3[16] = {0x00, 0x18, 0x50, 0x54, 0x48, 0x4C, 0x40, 0x44,
                                        0x00, 0x98, 0xD0, 0xD4, 0xC8, 0xCC, 0xC0, 0xC4};
    const float* scales = scales_.data() + row * (in_ / packed_->block_columns) - first_scale_;
    const std::byte* codes = codes_ + (row - first_) * (in_ / 2);
    constexpr std::int64_t kUnit = 32;  // of f8_e4m3_32
    for (std::int64_t i = 0; i < in_; ++i) {
        if (i % kUnit == 0) {
            store_field(out, 0, Le32::from(f32_bits(scales[i / packed_->block_columns] / 12.0F)));
            out += sizeof(Le32);
        }
        const auto pair = std::to_integer<unsigned>(codes[i / 2]);
        *out++ = static_cast<std::byte>(kE4m3[i % 2 == 0 ? pair >> 4 : pair & 0xFU]);
    }
}

// w · SCB / 127, rounded after each step.
void PackedRows::fill_int8(std::int64_t row, std::byte* out) const noexcept {
    const float scale = scales_[static_cast<std::size_t>(row)];
    const std::byte* codes = codes_ + (row - first_) * in_;
    for (std::int64_t i = 0; i < in_; ++i) {
        const auto code = static_cast<float>(std::to_integer<std::int8_t>(codes[i]));
        store_field(out, static_cast<std::size_t>(i), Le32::from(f32_bits(code * scale / 127.0F)));
    }
}

// Units outside, rows inside: neighbouring rows lie in the same words, or in neighbouring ones.
void PackedRows::fill_int4(std::span<const std::int64_t> rows, std::byte* out) const noexcept {
    const DTypeInfo& info = dtype_info(dtype_);
    const std::int64_t unit = info.block_elements, row_bytes = in_ / unit * info.block_bytes;
    const bool is_awq = packed_->scheme == Scheme::awq;
    const auto word = [](const std::byte* words, std::int64_t at) noexcept {
        return load_field<Le32>(words, static_cast<std::size_t>(at)).value();
    };
    for (std::int64_t first = 0; first < in_; first += unit) {
        const std::int64_t group = first / packed_->block_columns;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const std::int64_t row = rows[r];
            const auto eighth = static_cast<unsigned>(row % 8);
            const unsigned shift = is_awq ? kAwqShift[eighth] : 4 * eighth;
            std::byte* block = out + static_cast<std::int64_t>(r) * row_bytes + first / unit * info.block_bytes;
            store_field(block, 0, Le16::from(halves_[static_cast<std::size_t>(group * out_ + row)]));
            const unsigned zero = word(zeros_.data(), group * (out_ / 8) + row / 8) >> shift & 0xFU;
            block[2] = static_cast<std::byte>(zero + static_cast<unsigned>(packed_->zero_offset));
            std::uint8_t codes[128];
            for (std::int64_t i = 0; i < unit; ++i) {
                if (packed_->is_ordered) {
                    const std::int64_t input = order_[static_cast<std::size_t>(first + i)];
                    codes[i] = word(codes_, input / 8 * out_ + row) >> 4 * (input % 8) & 0xFU;
                } else if (is_awq) {
                    codes[i] = word(codes_, (first + i) * (out_ / 8) + row / 8) >> shift & 0xFU;
                } else if (i % 8 == 0) {
                    const std::uint32_t eight = word(codes_, (first + i) / 8 * out_ + row);
                    for (unsigned k = 0; k < 8; ++k) codes[i + k] = eight >> 4 * k & 0xFU;
                }
            }
            for (std::int64_t i = 0; i < unit / 2; ++i) {
                const std::uint8_t* low = codes + i / 16 * 32 + i % 16;
                block[3 + i] = static_cast<std::byte>(low[0] | low[16] << 4);
            }
        }
    }
}

}  // namespace mixtura
