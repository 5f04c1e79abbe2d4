#include "kernels/backend.hpp"

#include <array>
#include <string>
#include <type_traits>

#include "base/env.hpp"
#include "base/error.hpp"
#include "kernels/ref/ref.hpp"
#if defined(__x86_64__)
#include "kernels/x86/x86.hpp"
#elif defined(__aarch64__)
#include "kernels/arm/arm.hpp"
#endif

namespace mixtura {
namespace {

KernelTable reference_table() noexcept {
    KernelTable table{};
    ref::fill_products(table);
    ref::fill_rows(table);
    ref::fill_attention(table);
    ref::fill_recurrent(table);
    return table;
}

#if defined(__x86_64__)
KernelTable avx2_table() noexcept {
    KernelTable table = reference_table();
    avx2::fill_rows(table);
    avx2::fill_attention(table);
    avx2::fill_recurrent(table);
    avx2::fill_plain_products(table);
    avx2::fill_integer_products(table);
    return table;
}

KernelTable avx_vnni_table() noexcept {
    KernelTable table = avx2_table();
    avx_vnni::fill_integer_products(table);
    return table;
}

// Processors with AVX-512 but no VNNI keep the integer tiles of AVX2: their 512-bit vpmaddubsw would bring little.
KernelTable avx512_table() noexcept {
    KernelTable table = avx2_table();
    avx512::fill_rows(table);
    avx512::fill_attention(table);
    avx512::fill_recurrent(table);
    avx512::fill_plain_products(table);
    return table;
}

KernelTable avx512_vnni_table() noexcept {
    KernelTable table = avx512_table();
    avx512::fill_integer_products_vnni(table);
    return table;
}

KernelTable amx_int8_table() noexcept {
    KernelTable table = avx512_vnni_table();
    amx::fill_integer_products(table);
    return table;
}
#elif defined(__aarch64__)
KernelTable neon_table() noexcept {
    KernelTable table = reference_table();
    neon::fill_rows(table);
    neon::fill_attention(table);
    neon::fill_recurrent(table);
    neon::fill_plain_products(table);
    return table;
}

KernelTable neon_dotprod_table() noexcept {
    KernelTable table = neon_table();
    neon::fill_integer_products_dot(table);
    return table;
}
#endif

struct Entry {
    std::string_view name, description, required_isa;
    bool (*is_supported)(const CpuFeatures&);
    KernelTable table;
    bool is_chosen_unasked = true;
    bool (*works)() noexcept = nullptr;  // asked before it is chosen; nullptr: it does wherever it is supported
};

// Constant once made; made on first use, since tables are copies of lower tables.
const auto& entries() noexcept {
    static const Entry kEntries[] = {
        {"ref", "scalar reference, one step at a time", "", [](const CpuFeatures&) { return true; }, reference_table()},
#if defined(__x86_64__)
        {"avx2", "8 lanes, integer products by vpmaddubsw", "AVX2, FMA and F16C",
         [](const CpuFeatures& cpu) { return cpu.avx2; }, avx2_table()},
        {"avx_vnni", "8 lanes, integer products by vpdpbusd", "AVX2, FMA, F16C and AVX-VNNI",
         [](const CpuFeatures& cpu) { return cpu.avx2 && cpu.avx_vnni; }, avx_vnni_table()},
        {"avx512", "16 lanes, integer products as avx2", "AVX-512 F, BW, DQ and VL",
         [](const CpuFeatures& cpu) { return cpu.avx2 && cpu.avx512; }, avx512_table()},
        {"avx512_vnni", "16 lanes, integer products by vpdpbusd", "AVX-512 F, BW, DQ, VL and VNNI",
         [](const CpuFeatures& cpu) { return cpu.avx2 && cpu.avx512 && cpu.avx512_vnni; }, avx512_vnni_table()},
        {"amx_int8", "as avx512_vnni, integer products of many tokens by tdpbsud",
         "AMX-TILE, AMX-INT8, and AVX-512 F, BW, DQ, VL and VNNI",
         [](const CpuFeatures& cpu) {
             return cpu.avx2 && cpu.avx512 && cpu.avx512_vnni && cpu.amx_tile && cpu.amx_int8;
         },
         amx_int8_table(), false, amx::tiles_work},
#elif defined(__aarch64__)
        {"neon", "16 lanes in four registers, integer products as ref", "", [](const CpuFeatures&) { return true; },
         neon_table()},
        {"neon_dotprod", "as neon, integer products by sdot", "the dot products of Armv8.2",
         [](const CpuFeatures& cpu) { return cpu.neon_dotprod; }, neon_dotprod_table()},
#endif
    };
    return kEntries;
}

}  // namespace

std::span<const Backend> backends() noexcept {
    constexpr std::size_t kCount = std::extent_v<std::remove_reference_t<decltype(entries())>>;
    static const auto list = [] {
        std::array<Backend, kCount> all;
        const CpuFeatures features = cpu_features();
        for (std::size_t i = 0; i < kCount; ++i) {
            const Entry& entry = entries()[i];
            all[i] = {.name = entry.name,
                      .description = entry.description,
                      .required_isa = entry.required_isa,
                      .is_supported = entry.is_supported(features),
                      .is_chosen_unasked = entry.is_chosen_unasked,
                      .table = &entry.table};
        }
        return all;
    }();
    return list;
}

bool is_granted(const Backend& backend, const CpuFeatures& features) noexcept {
    return entries()[&backend - backends().data()].is_supported(features);
}

Result<const Backend*> choose_backend(std::optional<std::string_view> forced, const CpuFeatures& features) {
    const std::span<const Backend> all = backends();
    std::size_t chosen = 0;
    if (forced) {
        const std::string_view name = *forced == "scalar" ? "ref" : *forced;
        while (chosen < all.size() && all[chosen].name != name) ++chosen;
        if (chosen == all.size()) {
            std::string names;
            for (const Backend& backend : all) names += text(names.empty() ? "" : ", ", backend.name);
            return error(StatusCode::invalid_argument, "instruction set ", quoted(*forced),
                         " is unknown, expected one of ", names);
        }
        if (!entries()[chosen].is_supported(features)) {
            return error(StatusCode::no_backend, "instruction set ", quoted(*forced), " needs ",
                         all[chosen].required_isa, ", which this machine lacks");
        }
        if (entries()[chosen].works != nullptr && !entries()[chosen].works()) {
            return error(StatusCode::no_backend, "instruction set ", quoted(*forced),
                         " is not usable: the kernel refuses its registers to this process, or its products differ "
                         "from those of ",
                         all[chosen - 1].name);
        }
        return &all[chosen];
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (entries()[i].is_chosen_unasked && entries()[i].is_supported(features)) chosen = i;
    }
    return &all[chosen];
}

Result<const Backend*> choose_backend() { return choose_backend(env_value(EnvVariable::force_isa), cpu_features()); }

int product_index(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32: return 0;
        case DType::f16: return 1;
        case DType::bf16: return 2;
        case DType::q4_0: return 3;
        case DType::q4_1: return 4;
        case DType::q5_0: return 5;
        case DType::q5_1: return 6;
        case DType::q8_0: return 7;
        case DType::q2_k: return 8;
        case DType::q3_k: return 9;
        case DType::q4_k: return 10;
        case DType::q5_k: return 11;
        case DType::q6_k: return 12;
        case DType::iq4_nl: return 13;
        case DType::iq4_xs: return 14;
        case DType::mxfp4: return 15;
        case DType::f8_e4m3_32: return 16;
        case DType::f8_e4m3_128: return 17;
        case DType::int4_32: return 18;
        case DType::int4_64: return 19;
        case DType::int4_128: return 20;
        case DType::nf4: return 21;
        default: return -1;
    }
}

}  // namespace mixtura
