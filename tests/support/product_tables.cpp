#include "support/product_tables.hpp"

#include "kernels/backend.hpp"
#if defined(__x86_64__)
#include "support/x86/test_products.hpp"
#endif

namespace mixtura::test {
namespace {

#if defined(__x86_64__)
// The widest table of 512 bits with other integer products.
KernelTable table_with(const Backend& base, void (*fill)(KernelTable&) noexcept) {
    KernelTable table = *base.table;
    fill(table);
    return table;
}
#endif

std::vector<ProductTable> list_tables() {
    std::vector<ProductTable> tables;
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        tables.push_back({backend.name, backend.table});
#if defined(__x86_64__)
        if (backend.name != "avx512_vnni") continue;
        static const KernelTable evex = table_with(backend, fill_evex_avx_vnni_products);
        static const KernelTable played = table_with(backend, fill_played_amx_products);
        tables.push_back({"avx_vnni, EVEX-encoded", &evex});
        tables.push_back({"amx_int8, played", &played});
#endif
    }
    return tables;
}

}  // namespace

const std::vector<ProductTable>& product_tables() {
    static const std::vector<ProductTable> tables = list_tables();
    return tables;
}

}  // namespace mixtura::test
