// bitsandbytes: 4-bit codes into a map (NF4, FP4), with plain or nested absmax, and LLM.int8 weights.
#include "kernels/quant/packed_checks.hpp"

namespace mixtura {
namespace {

float load(std::span<const std::byte> floats, std::int64_t index) noexcept {
    return load_f32(floats.data(), static_cast<std::size_t>(index));
}

Status check(const Bnb4Weight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "block_size", w.block_size));
    const std::int64_t blocks = detail::ceil_div(w.out * w.in, w.block_size);
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "codes", w.codes, {detail::ceil_div(w.out * w.in, 2)}));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "quant_map", w.quant_map, {16, 4}));
    if (!w.nested) return detail::check_bytes(w.name, "absmax", w.absmax, {blocks, 4});
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "absmax", w.absmax, {blocks}));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "nested_block_size", w.nested->block_size));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "nested_absmax", w.nested->absmax,
                                                {detail::ceil_div(blocks, w.nested->block_size), 4}));
    return detail::check_bytes(w.name, "nested_quant_map", w.nested->quant_map, {256, 4});
}

float absmax(const Bnb4Weight& w, std::int64_t block) noexcept {
    if (!w.nested) return load(w.absmax, block);
    const auto code = std::to_integer<std::int64_t>(w.absmax[static_cast<std::size_t>(block)]);
    return load(w.nested->quant_map, code) * load(w.nested->absmax, block / w.nested->block_size) + w.nested->offset;
}

Status check(const BnbInt8Weight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "codes", w.codes, {w.out, w.in}));
    return detail::check_bytes(w.name, "row_absmax", w.row_absmax, {w.out, 4});
}

}  // namespace

Status decode_bnb_4bit(const Bnb4Weight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        float* value = values.data();
        for (std::int64_t n = rows.first * w.in; n < (rows.first + rows.count) * w.in; ++n) {
            const auto codes = std::to_integer<unsigned>(w.codes[static_cast<std::size_t>(n / 2)]);
            const unsigned code = n % 2 == 0 ? codes >> 4 : codes & 0xFU;
            *value++ = load(w.quant_map, code) * absmax(w, n / w.block_size);
        }
        return {};
    });
}

Status decode_bnb_int8(const BnbInt8Weight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        float* value = values.data();
        for (std::int64_t o = rows.first; o < rows.first + rows.count; ++o) {
            for (std::int64_t i = 0; i < w.in; ++i) {
                const auto code = std::to_integer<std::int8_t>(w.codes[static_cast<std::size_t>(o * w.in + i)]);
                *value++ = static_cast<float>(code) * load(w.row_absmax, o) / 127.0F;
            }
        }
        return {};
    });
}

}  // namespace mixtura
