// Inside kernels only: what the arm files fill into a table; as x86/x86.hpp.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/peak_loops.hpp"

namespace mixtura::neon {
void fill_rows(KernelTable& table) noexcept;
void fill_attention(KernelTable& table) noexcept;
void fill_recurrent(KernelTable& table) noexcept;
void fill_plain_products(KernelTable& table) noexcept;
void fill_integer_products_dot(KernelTable& table) noexcept;
void fill_peak_loops(PeakLoops& loops) noexcept;
void fill_peak_loops_dot(PeakLoops& loops) noexcept;
}  // namespace mixtura::neon
