// Rows of the KV cache, scalar: storing and reading back; see kernels/cache_row.hpp.
#include "kernels/cache_row.hpp"

#include <cstring>
#include <limits>

#include "kernels/ref/ref.hpp"

namespace mixtura {
namespace ref {
namespace {

void store_q8(const float* x, std::int64_t count, std::byte* out) noexcept {
    for (std::int64_t k = 0; k < count; k += kQ8Elements, out += kQ8BlockBytes) {
        float padded[kQ8Elements] = {};
        const std::int64_t here = count - k < kQ8Elements ? count - k : kQ8Elements;
        for (std::int64_t i = 0; i < here; ++i) padded[i] = x[k + i];
        ActivationBlock block;
        quantise_row(padded, kQ8Elements, &block);
        store_field(out, 0, Le16::from(f32_to_f16(block.d)));
        std::memcpy(out + kQ8ScaleBytes, block.q, sizeof block.q);
    }
}

void store_f8(const float* x, std::int64_t count, std::byte* out) noexcept {
    std::uint32_t largest = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::uint32_t magnitude = f32_bits(x[k]) & 0x7FFF'FFFFU;
        largest = magnitude > largest ? magnitude : largest;
    }
    const F8Scale scale = f8_scale(largest);
    store_field(out, 0, Le32::from(f32_bits(scale.scale)));
    std::byte* const codes = out + kF8ScaleBytes;
    for (std::int64_t k = 0; k < count; ++k)
        codes[k] = scale.inverse != 0.0F ? std::byte{f32_to_f8_e4m3(x[k] * scale.inverse)} : std::byte{0};
}

}  // namespace

F8Scale f8_scale(std::uint32_t largest) noexcept {
    if (largest >= kF32Infinity) return {std::numeric_limits<float>::quiet_NaN(), 0.0F};
    const float maximum = f32_from_bits(largest);
    if (maximum < kF8Tiny) return {0.0F, 0.0F};
    return {maximum / kF8Largest, kF8Largest / maximum};
}

void store_row(DType dtype, const float* x, std::int64_t count, std::byte* out) noexcept {
    if (dtype == DType::q8_0) return store_q8(x, count, out);
    if (dtype == DType::f8_e4m3) return store_f8(x, count, out);
    for (std::int64_t k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (dtype == DType::f32) {
            store_field(out, at, Le32::from(f32_bits(x[k])));
        } else {
            store_field(out, at, Le16::from(dtype == DType::f16 ? f32_to_f16(x[k]) : f32_to_bf16(x[k])));
        }
    }
}

}  // namespace ref

void load_cache_row(DType dtype, const std::byte* row, std::int64_t first, std::int64_t count, float* out) noexcept {
    if (dtype == DType::q8_0) {
        for (std::int64_t k = first; k < first + count; ++k) {
            const std::byte* const block = row + k / kQ8Elements * kQ8BlockBytes;
            const auto q = static_cast<std::int8_t>(block[kQ8ScaleBytes + k % kQ8Elements]);
            out[k - first] = static_cast<float>(q) * ref::load_plain(DType::f16, block, 0);
        }
    } else if (dtype == DType::f8_e4m3) {
        const float scale = load_f32(row, 0) * 0x1p8F;
        const auto* const codes = reinterpret_cast<const std::uint8_t*>(row + kF8ScaleBytes);
        for (std::int64_t k = first; k < first + count; ++k)
            out[k - first] = f8_e4m3_to_f32(codes[k]) * 0x1p-8F * scale;
    } else {
        for (std::int64_t k = first; k < first + count; ++k)
            out[k - first] = ref::load_plain(dtype, row, static_cast<std::size_t>(k));
    }
}

}  // namespace mixtura
