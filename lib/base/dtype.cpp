#include <mixtura/types.hpp>

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"

namespace mixtura {
namespace {

// Block sizes: the safetensors format description for the plain types; for the block formats the structs of the GGUF
// specification (ggml-common.h), where e.g. q4_k is 2+2 bytes of f16 scales, 12 of 6-bit scales and 128 of nibbles.
constexpr DTypeInfo kTable[] = {
    {DType::f64, "f64", 1, 8},
    {DType::f32, "f32", 1, 4},
    {DType::f16, "f16", 1, 2},
    {DType::bf16, "bf16", 1, 2},
    {DType::f8_e4m3, "f8_e4m3", 1, 1},
    {DType::f8_e5m2, "f8_e5m2", 1, 1},
    {DType::f8_e8m0, "f8_e8m0", 1, 1},
    {DType::f8_e4m3fnuz, "f8_e4m3fnuz", 1, 1},
    {DType::f8_e5m2fnuz, "f8_e5m2fnuz", 1, 1},
    {DType::f6_e2m3, "f6_e2m3", 4, 3},
    {DType::f6_e3m2, "f6_e3m2", 4, 3},
    {DType::f4_e2m1, "f4_e2m1", 2, 1},
    {DType::c64, "c64", 1, 8},
    {DType::i64, "i64", 1, 8},
    {DType::i32, "i32", 1, 4},
    {DType::i16, "i16", 1, 2},
    {DType::i8, "i8", 1, 1},
    {DType::u64, "u64", 1, 8},
    {DType::u32, "u32", 1, 4},
    {DType::u16, "u16", 1, 2},
    {DType::u8, "u8", 1, 1},
    {DType::boolean, "bool", 1, 1},
    {DType::q4_0, "q4_0", 32, 2 + 16},
    {DType::q4_1, "q4_1", 32, 4 + 16},
    {DType::q5_0, "q5_0", 32, 2 + 4 + 16},
    {DType::q5_1, "q5_1", 32, 4 + 4 + 16},
    {DType::q8_0, "q8_0", 32, 2 + 32},
    {DType::q8_1, "q8_1", 32, 4 + 32},
    {DType::q2_k, "q2_k", 256, 16 + 64 + 4},
    {DType::q3_k, "q3_k", 256, 32 + 64 + 12 + 2},
    {DType::q4_k, "q4_k", 256, 4 + 12 + 128},
    {DType::q5_k, "q5_k", 256, 4 + 12 + 32 + 128},
    {DType::q6_k, "q6_k", 256, 128 + 64 + 16 + 2},
    {DType::q8_k, "q8_k", 256, 4 + 256 + 32},
    {DType::iq1_s, "iq1_s", 256, 2 + 32 + 16},
    {DType::iq1_m, "iq1_m", 256, 32 + 16 + 8},
    {DType::iq2_xxs, "iq2_xxs", 256, 2 + 64},
    {DType::iq2_xs, "iq2_xs", 256, 2 + 64 + 8},
    {DType::iq2_s, "iq2_s", 256, 2 + 64 + 16},
    {DType::iq3_xxs, "iq3_xxs", 256, 2 + 64 + 32},
    {DType::iq3_s, "iq3_s", 256, 2 + 64 + 8 + 32 + 4},
    {DType::iq4_nl, "iq4_nl", 32, 2 + 16},
    {DType::iq4_xs, "iq4_xs", 256, 2 + 2 + 4 + 128},
    {DType::tq1_0, "tq1_0", 256, 2 + 48 + 4},
    {DType::tq2_0, "tq2_0", 256, 2 + 64},
    {DType::mxfp4, "mxfp4", 32, 1 + 16},
    {DType::nvfp4, "nvfp4", 64, 4 + 32},
    {DType::f8_e4m3_32, "f8_e4m3_32", 32, 4 + 32},
    {DType::f8_e4m3_128, "f8_e4m3_128", 128, 4 + 128},
    {DType::int4_32, "int4_32", 32, 3 + 16},
    {DType::int4_64, "int4_64", 64, 3 + 32},
    {DType::int4_128, "int4_128", 128, 3 + 64},
    {DType::nf4, "nf4", 64, 4 + 32},
};

constexpr DTypeInfo kUnknown{DType::unknown, "unknown", 1, 0};

constexpr bool is_sub_byte_plain(DType dtype) {
    return dtype == DType::f4_e2m1 || dtype == DType::f6_e2m3 || dtype == DType::f6_e3m2;
}

}  // namespace

const DTypeInfo& dtype_info(DType dtype) noexcept {
    const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                     [dtype](const DTypeInfo& info) { return info.dtype == dtype; });
    return found == std::end(kTable) ? kUnknown : *found;
}

std::string_view dtype_name(DType dtype) noexcept { return dtype_info(dtype).name; }

DType dtype_from_name(std::string_view name) noexcept {
    const auto* found =
        std::find_if(std::begin(kTable), std::end(kTable), [name](const DTypeInfo& info) { return info.name == name; });
    return found == std::end(kTable) ? DType::unknown : found->dtype;
}

std::span<const DTypeInfo> all_dtypes() noexcept { return kTable; }

std::optional<std::uint64_t> tensor_size_bytes(DType dtype, const Shape& shape) noexcept {
    const DTypeInfo& info = dtype_info(dtype);
    if (info.block_bytes == 0) return std::nullopt;
    // Sub-byte plain types are packed over the whole tensor (safetensors); block formats never cross a row (GGUF).
    const std::int64_t run = is_sub_byte_plain(dtype) ? shape.element_count()
                             : shape.rank() == 0      ? 1
                                                      : shape[shape.rank() - 1];
    if (run % info.block_elements != 0) return std::nullopt;
    const auto blocks = static_cast<std::uint64_t>(shape.element_count() / info.block_elements);
    return checked_multiply(blocks, static_cast<std::uint64_t>(info.block_bytes));
}

}  // namespace mixtura
