// Rows of a weight that the files hold in several tensors, in the form that memory has them: blocks of a scale and
// codes (kernels/quant/blocks.hpp), or f32 where no such block fits.  PieceLoader packs them like any file's rows.
#pragma once

#include <mixtura/status.hpp>

#include <memory>
#include <span>
#include <vector>

#include "formats/model_files.hpp"
#include "memory/piece_reader.hpp"

namespace mixtura {

// What codes of bitsandbytes' FP4 stand for, in twelfths of their block's largest; 8-bit floats hold each of them.
// Source: bitsandbytes' own table, which divides these by 12.
inline constexpr float kFp4Twelfths[16] = {0.0F, 0.0625F,  8.0F,  12.0F,  4.0F,  6.0F,  2.0F,  3.0F,
                                           0.0F, -0.0625F, -8.0F, -12.0F, -4.0F, -6.0F, -2.0F, -3.0F};

class PackedRows {
  public:
    // What rows [first, last) of `weight`, whose parts `packed` names, are made of: the codes stay in `codes`, the rest
    // passes through `scratch`.  Errors as File::read_at; OUT_OF_HOST_MEMORY; UNSUPPORTED for scales that memory would
    // round and for groups of different sizes; CORRUPT_FILE for groups that do not exist or are in an order that nobody
    // stated.  Threads: any-thread, own buffers each.
    static Result<PackedRows> read(std::span<const std::unique_ptr<PieceReader>> readers, const PackedTensor& packed,
                                   const TensorInfo& weight, std::int64_t first, std::int64_t last,
                                   AlignedBuffer& codes, AlignedBuffer& scratch);

    // The rows of these numbers, one behind another, as weight.dtype has them; their columns in order().
    void fill(std::span<const std::int64_t> rows, std::byte* out) const noexcept;
    // The same as f32, `codes` between; their columns as the inputs are.
    void decode(std::span<const std::int64_t> rows, std::byte* codes, float* out) const;

    // Of 8-bit floats: columns of these numbers as rows of `dtype`, a block format; of each, `count` elements from row
    // `first` on, whole blocks that share a scale each.
    void fill_turned(std::span<const std::int64_t> columns, std::int64_t first, std::int64_t count, DType dtype,
                     std::byte* out) const noexcept;

    // [in] of GPTQ in activation order: the inputs, group by group.
    std::span<const std::int32_t> order() const noexcept { return order_; }

  private:
    Status read_scales(const PieceReader& reader, std::int64_t first, std::int64_t last, AlignedBuffer& scratch);
    Status read_nested_scales(std::span<const std::unique_ptr<PieceReader>> readers, std::int64_t first,
                              std::int64_t last, AlignedBuffer& scratch);
    Status read_zeros(std::span<const std::unique_ptr<PieceReader>> readers, AlignedBuffer& scratch);
    void fill_int4(std::span<const std::int64_t> rows, std::byte* out) const noexcept;
    std::int64_t row_scales() const noexcept;
    std::int64_t slice_scales() const noexcept;
    const float* f8_scales(std::int64_t row) const noexcept;  // of its blocks
    void fill_f8(std::int64_t row, std::byte* out) const noexcept;
    void fill_nf4(std::int64_t row, std::byte* out) const noexcept;
    void fill_fp4(std::int64_t row, std::byte* out) const noexcept;
    void fill_int8(std::int64_t row, std::byte* out) const noexcept;

    const PackedTensor* packed_ = nullptr;
    DType dtype_ = DType::unknown;
    std::int64_t out_ = 0, in_ = 0;
    std::int64_t first_ = 0;            // the row at codes_
    const std::byte* codes_ = nullptr;  // of the rows asked for; of the whole weight where rows lie across
    std::int64_t first_scale_ = 0;      // the number, in the file, of scales_[0]
    std::vector<float> scales_;
    std::vector<std::uint16_t> halves_;  // of int4: the scales as f16
    std::vector<std::byte> zeros_;       // of int4: words as in the file
    std::vector<std::int32_t> order_;    // of gptq with a tensor of groups
};

}  // namespace mixtura
