// MXFP4 as GPT-OSS stores it, and 8-bit floats with a scale for each block.
#include "kernels/quant/half.hpp"
#include "kernels/quant/packed_checks.hpp"

namespace mixtura {
namespace {

Status check(const Mxfp4Weight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_multiple(w.name, "in", w.in, 32));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "blocks", w.blocks, {w.out, w.in / 2}));
    return detail::check_bytes(w.name, "scales", w.scales, {w.out, w.in / 32});
}

Status check(const BlockF8Weight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "block_rows", w.block_rows));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "block_columns", w.block_columns));
    MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType code, detail::scale_type(w.name, w.code_dtype));
    if (code.bytes != 1) return detail::misfit(w.name, "codes are ", dtype_name(w.code_dtype), ", expected an f8 type");
    MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "codes", w.codes, {w.out, w.in}));
    return detail::check_bytes(
        w.name, "scales", w.scales,
        {detail::ceil_div(w.out, w.block_rows), detail::ceil_div(w.in, w.block_columns), scale.bytes});
}

}  // namespace

Status decode_mxfp4(const Mxfp4Weight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        float* value = values.data();
        for (std::int64_t o = rows.first; o < rows.first + rows.count; ++o) {
            for (std::int64_t i = 0; i < w.in; ++i) {
                const std::int64_t n = o * w.in + i;
                const auto codes = std::to_integer<unsigned>(w.blocks[static_cast<std::size_t>(n / 2)]);
                const auto scale = std::to_integer<std::uint8_t>(w.scales[static_cast<std::size_t>(n / 32)]);
                *value++ = f4_e2m1_to_f32(codes >> 4 * (n % 2) & 0xFU) * f8_e8m0_to_f32(scale);
            }
        }
        return {};
    });
}

Status decode_block_f8(const BlockF8Weight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType code, detail::scale_type(w.name, w.code_dtype));
        MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
        const std::int64_t scales_per_row = detail::ceil_div(w.in, w.block_columns);
        float* value = values.data();
        for (std::int64_t o = rows.first; o < rows.first + rows.count; ++o) {
            code.decode(w.codes.data() + o * w.in, value, static_cast<std::size_t>(w.in));
            for (std::int64_t i = 0; i < w.in; ++i) {
                *value++ *= scale.load(w.scales, o / w.block_rows * scales_per_row + i / w.block_columns);
            }
        }
        return {};
    });
}

}  // namespace mixtura
