// f32 rows to what a plane stores and back.
#pragma once

#include <mixtura/types.hpp>

#include <cstddef>

namespace mixtura {

// `count` elements of dtype f32, f16 or bf16; narrower types are rounded to nearest even.
void store_row(DType dtype, const float* row, std::byte* stored, std::size_t count) noexcept;
void load_row(DType dtype, const std::byte* stored, float* row, std::size_t count) noexcept;

}  // namespace mixtura
