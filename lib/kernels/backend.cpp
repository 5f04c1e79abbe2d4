#include "kernels/backend.hpp"

#include <string>

#include "base/env.hpp"
#include "base/error.hpp"
#include "kernels/ref/ref.hpp"

namespace mixtura {
namespace {

KernelTable reference_table() noexcept {
    KernelTable table{};
    ref::fill_products(table);
    ref::fill_rows(table);
    ref::fill_attention(table);
    return table;
}

struct Entry {
    std::string_view name, description, required_isa;
    bool (*is_supported)(const CpuFeatures&);
    KernelTable table;
};

// Constant once made; made on first use, since tables are copies of lower tables.
const auto& entries() noexcept {
    static const Entry kEntries[] = {
        {"ref", "scalar reference, one step at a time", "", [](const CpuFeatures&) { return true; }, reference_table()},
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
            all[i] = {entry.name,  entry.description, entry.required_isa, true, entry.is_supported(features),
                      &entry.table};
        }
        return all;
    }();
    return list;
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
        return &all[chosen];
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (entries()[i].is_supported(features)) chosen = i;
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
        default: return -1;
    }
}

}  // namespace mixtura
