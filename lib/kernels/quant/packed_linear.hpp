// The reference decoding of linear layers whose weights Hugging Face checkpoints store in several tensors: codes,
// scales, zero points, maps.  Called by weights with the bytes of those tensors as the file holds them (little-endian,
// at any alignment) and by tests; knows no JSON and no tensor names.  Sizes are the caller's word about an untrusted
// file, so each is checked: every span must hold exactly what the extents need, before anything is read.
//
// All functions write rows [rows.first, rows.first + rows.count) of W [out, in], f32, row-major, into `values`, which
// must hold rows.count · in floats: one row is one output, as in y = W·x, whichever way the file lies.  Products and
// sums round once each in the order the formulas are written.
//
// Errors: INVALID_ARGUMENT for extents, sizes or a row range that do not fit together; CORRUPT_FILE for contents that
// point outside (g_idx); `values` is then untouched.  Threads: any-thread.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mixtura {

struct RowRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

// W[o, i] = (q - zero) · scale, 4 bits.  Rows of the file are inputs; eight outputs share a 32-bit word, whose nibbles,
// lowest first, are outputs 0, 2, 4, 6, 1, 3, 5, 7 of the eight.
// Source: Lin et al. 2023, arXiv 2306.00978; the storage is that of AutoAWQ's "gemm" version.
struct AwqWeight {
    std::string_view name;               // for messages
    std::int64_t out = 0;                // a multiple of 8
    std::int64_t in = 0;                 // a multiple of group_size
    std::int64_t group_size = 0;         // inputs that share a scale and a zero point
    std::span<const std::byte> qweight;  // [in, out / 8] i32
    std::span<const std::byte> qzeros;   // [in / group_size, out / 8] i32
    std::span<const std::byte> scales;   // [in / group_size, out] scale_dtype
    DType scale_dtype = DType::f16;
};
Status decode_awq(const AwqWeight& weight, RowRange rows, std::span<float> values) noexcept;

// W[o, i] = scale · (q - (zero + zero_offset)), 4 bits.  Eight inputs of one output share a word of qweight, eight
// outputs of one group a word of qzeros, lowest nibble first.  zero + zero_offset is not masked: it may be 16.
// Source: Frantar et al. 2022, arXiv 2210.17323; the storage is that of AutoGPTQ.
struct GptqWeight {
    std::string_view name;
    std::int64_t out = 0;                // a multiple of 8
    std::int64_t in = 0;                 // a multiple of 8
    std::int64_t group_size = 0;         // the last group may be smaller
    int zero_offset = 1;                 // 1: the usual "gptq" format, which stores zero points minus one; 0: "gptq_v2"
    std::span<const std::byte> qweight;  // [in / 8, out] i32
    std::span<const std::byte> qzeros;   // [groups, out / 8] i32, groups = ⌈in / group_size⌉
    std::span<const std::byte> scales;   // [groups, out] scale_dtype
    std::span<const std::byte> g_idx;    // [in] i32, the group of each input; empty: i / group_size
    DType scale_dtype = DType::f16;
};
Status decode_gptq(const GptqWeight& weight, RowRange rows, std::span<float> values) noexcept;

// W[o, i] = 2^(scale - 127) · e2m1(code); the low half of a byte is the earlier input.  A scale of 255 is NaN.  The
// experts of a layer lie one after another, so out may count the rows of all of them.
// Source: the OCP format MX 1.0; the storage is that of the GPT-OSS checkpoints.
struct Mxfp4Weight {
    std::string_view name;
    std::int64_t out = 0;
    std::int64_t in = 0;                // a multiple of 32
    std::span<const std::byte> blocks;  // [out, in / 32, 16] u8
    std::span<const std::byte> scales;  // [out, in / 32] u8
};
Status decode_mxfp4(const Mxfp4Weight& weight, RowRange rows, std::span<float> values) noexcept;

// W[o, i] = code · scale[o / block_rows, i / block_columns]; blocks at the edges may be smaller.  One block for the
// whole weight is a per-tensor scale, block_columns = in with block_rows = 1 a scale per output.
// Source: DeepSeek-V3's technical report 2024, arXiv 2412.19437, section 3.3 (its files say weight_scale_inv).
struct BlockF8Weight {
    std::string_view name;
    std::int64_t out = 0;
    std::int64_t in = 0;
    std::int64_t block_rows = 128;
    std::int64_t block_columns = 128;
    std::span<const std::byte> codes;   // [out, in] code_dtype
    std::span<const std::byte> scales;  // [⌈out / block_rows⌉, ⌈in / block_columns⌉] scale_dtype
    DType code_dtype = DType::f8_e4m3;  // any f8
    DType scale_dtype = DType::f32;
};
Status decode_block_f8(const BlockF8Weight& weight, RowRange rows, std::span<float> values) noexcept;

// W[n] = quant_map[code] · absmax[n / block_size], n = o · in + i: blocks run over the ends of rows.  The high half of
// a byte is the earlier element.  NF4 and FP4 differ in their maps only, which the checkpoint holds.  Nested:
// absmax[b] = nested_quant_map[code] · nested_absmax[b / nested_block_size] + nested_offset.
// Source: Dettmers et al. 2023, arXiv 2305.14314; the storage is bitsandbytes', its parameters are in quant_state.
struct Bnb4Weight {
    struct Nested {
        std::int64_t block_size = 0;
        float offset = 0.0F;
        std::span<const std::byte> absmax;     // [⌈blocks / block_size⌉] f32
        std::span<const std::byte> quant_map;  // [256] f32
    };
    std::string_view name;
    std::int64_t out = 0;
    std::int64_t in = 0;
    std::int64_t block_size = 0;
    std::span<const std::byte> codes;      // [⌈out · in / 2⌉] u8
    std::span<const std::byte> quant_map;  // [16] f32
    std::span<const std::byte> absmax;     // [blocks] f32, nested: u8; blocks = ⌈out · in / block_size⌉
    std::optional<Nested> nested;
};
Status decode_bnb_4bit(const Bnb4Weight& weight, RowRange rows, std::span<float> values) noexcept;

// W[o, i] = code · row_absmax[o] / 127, in that order.
// Source: Dettmers et al. 2022, arXiv 2208.07339; the storage is that of bitsandbytes (SCB).
struct BnbInt8Weight {
    std::string_view name;
    std::int64_t out = 0;
    std::int64_t in = 0;
    std::span<const std::byte> codes;       // [out, in] i8
    std::span<const std::byte> row_absmax;  // [out] f32
};
Status decode_bnb_int8(const BnbInt8Weight& weight, RowRange rows, std::span<float> values) noexcept;

}  // namespace mixtura
