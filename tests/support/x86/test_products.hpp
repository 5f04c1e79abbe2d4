// Products of lib/kernels/x86 built a second time for what more processors have: AVX-512 with VNNI.
#pragma once

#include "kernels/kernel_table.hpp"

namespace mixtura::test {

void fill_evex_avx_vnni_products(KernelTable& table) noexcept;
void fill_played_amx_products(KernelTable& table) noexcept;

}  // namespace mixtura::test
