// Inside kernels/quant only: the size checks that every packed linear layer shares, so that no reader of
// packed_linear.hpp touches a byte before its spans are known to fit its extents.
#pragma once

#include <initializer_list>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/quant/little_endian.hpp"
#include "kernels/quant/packed_linear.hpp"

namespace mixtura::detail {

// a / b rounded up; a >= 0, b >= 1.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

template <class... Parts>
Status misfit(std::string_view name, const Parts&... parts) {
    return error(StatusCode::invalid_argument, "weight ", quoted(name), ": ", parts...);
}

inline Status check_positive(std::string_view name, std::string_view what, std::int64_t value) {
    if (value >= 1) return {};
    return misfit(name, what, " is ", value, ", expected at least 1");
}

inline Status check_multiple(std::string_view name, std::string_view what, std::int64_t value, std::int64_t divisor) {
    if (value % divisor == 0) return {};
    return misfit(name, what, " is ", value, ", expected a multiple of ", divisor);
}

// `bytes` holds the product of `factors` (none negative) bytes.
inline Status check_bytes(std::string_view name, std::string_view what, std::span<const std::byte> bytes,
                          std::initializer_list<std::int64_t> factors) {
    std::optional<std::int64_t> expected = 1;
    for (const std::int64_t factor : factors) {
        if (expected) expected = checked_multiply(*expected, factor);
    }
    if (!expected) return misfit(name, what, "'s size leaves 64 bits");
    if (std::cmp_equal(bytes.size(), *expected)) return {};
    return misfit(name, what, " holds ", bytes.size(), " bytes, expected ", *expected);
}

// The extents, the wanted rows and the place for them fit together.
inline Status check_rows(std::string_view name, std::int64_t out, std::int64_t in, RowRange rows,
                         std::span<const float> values) {
    MIXTURA_RETURN_IF_ERROR(check_positive(name, "out", out));
    MIXTURA_RETURN_IF_ERROR(check_positive(name, "in", in));
    if (!checked_multiply(out, in)) return misfit(name, "its size leaves 64 bits");
    if (rows.first < 0 || rows.count < 0 || rows.count > out - rows.first) {
        return misfit(name, "rows ", rows.first, " and the ", rows.count, " from there on lie outside its ", out,
                      " rows");
    }
    if (std::cmp_equal(values.size(), rows.count * in)) return {};
    return misfit(name, "there is room for ", values.size(), " values, expected ", rows.count * in);
}

// A plain float type that scales are stored in.
struct ScaleType {
    DecodeBlocks decode = nullptr;
    std::int64_t bytes = 0;

    float load(std::span<const std::byte> scales, std::int64_t index) const noexcept {
        float scale = 0.0F;
        decode(scales.data() + index * bytes, &scale, 1);
        return scale;
    }
};

inline Result<ScaleType> scale_type(std::string_view name, DType dtype) {
    const DTypeInfo& info = dtype_info(dtype);
    const DecodeBlocks decode = decoder(dtype);
    if (decode == nullptr || info.block_elements != 1)
        return misfit(name, "scales are ", info.name, ", expected a float type");
    return ScaleType{decode, info.block_bytes};
}

}  // namespace mixtura::detail
