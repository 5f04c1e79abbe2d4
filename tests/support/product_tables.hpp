// The tables whose products a test compares: those of the back-ends that run here and, where there is AVX-512 with
// VNNI, the tiles of AVX-VNNI and AMX in forms that it can run, for most machines lack those two.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/kernel_table.hpp"

namespace mixtura::test {

struct ProductTable {
    std::string_view name;
    const KernelTable* table = nullptr;
};

const std::vector<ProductTable>& product_tables();

}  // namespace mixtura::test
