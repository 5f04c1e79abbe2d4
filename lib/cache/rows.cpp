#include "cache/rows.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/quant/half.hpp"

namespace mixtura {
namespace {

template <std::uint16_t (*kRound)(float)>
void store_halves(const float* row, std::byte* stored, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t half = kRound(row[i]);
        std::memcpy(stored + 2 * i, &half, sizeof half);
    }
}

template <float (*kWiden)(std::uint16_t)>
void load_halves(const std::byte* stored, float* row, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, stored + 2 * i, sizeof half);
        row[i] = kWiden(half);
    }
}

}  // namespace

void store_row(DType dtype, const float* row, std::byte* stored, std::size_t count) noexcept {
    if (dtype == DType::f16) {
        store_halves<f32_to_f16>(row, stored, count);
    } else if (dtype == DType::bf16) {
        store_halves<f32_to_bf16>(row, stored, count);
    } else {
        std::memcpy(stored, row, count * sizeof(float));
    }
}

void load_row(DType dtype, const std::byte* stored, float* row, std::size_t count) noexcept {
    if (dtype == DType::f16) {
        load_halves<f16_to_f32>(stored, row, count);
    } else if (dtype == DType::bf16) {
        load_halves<bf16_to_f32>(stored, row, count);
    } else {
        std::memcpy(row, stored, count * sizeof(float));
    }
}

}  // namespace mixtura
