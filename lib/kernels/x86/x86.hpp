// Inside kernels only: what the x86 files fill into a table.  Each expects a full table of a narrower back-end and
// replaces what it does faster with the same bits.  backend.cpp calls them; the functions they fill in run only on
// processors that have the instruction set.  The same for the loops of peak_loops.cpp.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/peak_loops.hpp"

namespace mixtura::avx2 {
void fill_rows(KernelTable& table) noexcept;
void fill_attention(KernelTable& table) noexcept;
void fill_recurrent(KernelTable& table) noexcept;
void fill_plain_products(KernelTable& table) noexcept;
void fill_integer_products(KernelTable& table) noexcept;
void fill_peak_loops(PeakLoops& loops) noexcept;
}  // namespace mixtura::avx2

namespace mixtura::avx_vnni {
void fill_integer_products(KernelTable& table) noexcept;
void fill_peak_loops(PeakLoops& loops) noexcept;
}  // namespace mixtura::avx_vnni

namespace mixtura::avx512 {
void fill_rows(KernelTable& table) noexcept;
void fill_attention(KernelTable& table) noexcept;
void fill_recurrent(KernelTable& table) noexcept;
void fill_plain_products(KernelTable& table) noexcept;
void fill_integer_products_vnni(KernelTable& table) noexcept;
void fill_peak_loops(PeakLoops& loops) noexcept;
void fill_peak_loops_vnni(PeakLoops& loops) noexcept;
}  // namespace mixtura::avx512

namespace mixtura::amx {
void fill_integer_products(KernelTable& table) noexcept;  // over those of avx512, which they become where tiles fail
void fill_integer_products_unchecked(KernelTable& table) noexcept;

// Whether a product of every integer format has the same bits by both tables.
bool products_agree(const KernelTable& tiles, const KernelTable& narrower) noexcept;

// Whether the kernel grants tiles to this process and their products agree with those of AVX-512 VNNI, tried once.
// The first call asks the kernel, which changes the process for good (amx_check.cpp).  Threads: any-thread.
bool tiles_work() noexcept;
}  // namespace mixtura::amx
