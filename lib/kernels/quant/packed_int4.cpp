// AWQ and GPTQ: 4-bit integers, eight to a word, with a scale and a zero point for each group of inputs.
#include "kernels/quant/packed_checks.hpp"

namespace mixtura {
namespace {

// Where AWQ keeps output i of eight, as a shift: outputs 0, 2, 4, 6, 1, 3, 5, 7 follow each other.
constexpr unsigned kAwqShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

int nibble(std::span<const std::byte> words, std::int64_t word, unsigned shift) noexcept {
    return static_cast<int>(load_field<Le32>(words.data(), static_cast<std::size_t>(word)).value() >> shift & 0xFU);
}

unsigned gptq_shift(std::int64_t i) noexcept { return 4U * static_cast<unsigned>(i % 8); }

Status check(const AwqWeight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_multiple(w.name, "out", w.out, 8));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "group_size", w.group_size));
    MIXTURA_RETURN_IF_ERROR(detail::check_multiple(w.name, "in", w.in, w.group_size));
    MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
    const std::int64_t groups = w.in / w.group_size;
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "qweight", w.qweight, {w.in, w.out / 8, 4}));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "qzeros", w.qzeros, {groups, w.out / 8, 4}));
    return detail::check_bytes(w.name, "scales", w.scales, {groups, w.out, scale.bytes});
}

std::int64_t group_count(const GptqWeight& w) noexcept { return detail::ceil_div(w.in, w.group_size); }

std::int64_t group_of(const GptqWeight& w, std::int64_t i) noexcept {
    if (w.g_idx.empty()) return i / w.group_size;
    return static_cast<std::int32_t>(load_field<Le32>(w.g_idx.data(), static_cast<std::size_t>(i)).value());
}

Status check(const GptqWeight& w, RowRange rows, std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(detail::check_rows(w.name, w.out, w.in, rows, values));
    MIXTURA_RETURN_IF_ERROR(detail::check_multiple(w.name, "out", w.out, 8));
    MIXTURA_RETURN_IF_ERROR(detail::check_multiple(w.name, "in", w.in, 8));
    MIXTURA_RETURN_IF_ERROR(detail::check_positive(w.name, "group_size", w.group_size));
    if (w.zero_offset != 0 && w.zero_offset != 1) {
        return detail::misfit(w.name, "zero_offset is ", w.zero_offset, ", expected 0 or 1");
    }
    MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
    const std::int64_t groups = group_count(w);
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "qweight", w.qweight, {w.in / 8, w.out, 4}));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "qzeros", w.qzeros, {groups, w.out / 8, 4}));
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "scales", w.scales, {groups, w.out, scale.bytes}));
    if (w.g_idx.empty()) return {};
    MIXTURA_RETURN_IF_ERROR(detail::check_bytes(w.name, "g_idx", w.g_idx, {w.in, 4}));
    for (std::int64_t i = 0; i < w.in; ++i) {
        const std::int64_t group = group_of(w, i);
        if (group < 0 || group >= groups) {
            return error(StatusCode::corrupt_file, "weight ", quoted(w.name), ": g_idx[", i, "] is ", group,
                         ", expected 0 to ", groups - 1);
        }
    }
    return {};
}

}  // namespace

Status decode_awq(const AwqWeight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
        float* value = values.data();
        for (std::int64_t o = rows.first; o < rows.first + rows.count; ++o) {
            const unsigned shift = kAwqShift[o % 8];
            for (std::int64_t i = 0; i < w.in; ++i) {
                const std::int64_t group = i / w.group_size;
                const int q = nibble(w.qweight, i * (w.out / 8) + o / 8, shift);
                const int zero = nibble(w.qzeros, group * (w.out / 8) + o / 8, shift);
                *value++ = static_cast<float>(q - zero) * scale.load(w.scales, group * w.out + o);
            }
        }
        return {};
    });
}

Status decode_gptq(const GptqWeight& w, RowRange rows, std::span<float> values) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(w, rows, values));
        MIXTURA_ASSIGN_OR_RETURN(const detail::ScaleType scale, detail::scale_type(w.name, w.scale_dtype));
        float* value = values.data();
        for (std::int64_t o = rows.first; o < rows.first + rows.count; ++o) {
            for (std::int64_t i = 0; i < w.in; ++i) {
                const std::int64_t group = group_of(w, i);
                const int q = nibble(w.qweight, i / 8 * w.out + o, gptq_shift(i));
                const int zero = nibble(w.qzeros, group * (w.out / 8) + o / 8, gptq_shift(o)) + w.zero_offset;
                *value++ = static_cast<float>(q - zero) * scale.load(w.scales, group * w.out + o);
            }
        }
        return {};
    });
}

}  // namespace mixtura
