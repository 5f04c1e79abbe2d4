// The choices of element types for keys and values, by name.  Keys are never narrower than values: a wrong score moves
// a whole row's weight, a wrong value only its own element.
#include <mixtura/cache_dtypes.hpp>

#include <algorithm>

#include "cache/cache_dtypes.hpp"

namespace mixtura {
namespace {

constexpr CacheChoice kChoices[] = {{"f32", DType::f32},
                                    {"f16", DType::f16},
                                    {"bf16", DType::bf16},
                                    {"f16+q8", {DType::f16, DType::q8_0}},
                                    {"bf16+q8", {DType::bf16, DType::q8_0}},
                                    {"f16+f8", {DType::f16, DType::f8_e4m3}},
                                    {"bf16+f8", {DType::bf16, DType::f8_e4m3}},
                                    {"q8", DType::q8_0},
                                    {"f8", DType::f8_e4m3}};

}  // namespace

std::span<const CacheChoice> cache_choices() noexcept { return kChoices; }

std::string cache_dtypes_name(CacheDTypes dtypes) {
    for (const CacheChoice& choice : kChoices) {
        if (choice.dtypes == dtypes) return std::string(choice.name);
    }
    std::string name(dtype_name(dtypes.keys));
    if (dtypes.keys != dtypes.values) name.append("+").append(dtype_name(dtypes.values));
    return name;
}

std::optional<CacheDTypes> cache_dtypes_from_name(std::string_view name) noexcept {
    for (const CacheChoice& choice : kChoices) {
        if (choice.name == name) return choice.dtypes;
    }
    return std::nullopt;
}

std::string cache_choice_list(bool with_pairs) {
    std::string list;
    std::string_view last;
    for (const CacheChoice& choice : kChoices) {
        if (!with_pairs && choice.dtypes.keys != choice.dtypes.values) continue;
        if (!last.empty()) list.append(list.empty() ? "" : ", ").append(last);
        last = choice.name;
    }
    return list.append(" or ").append(last);
}

bool is_cache_choice(CacheDTypes dtypes) noexcept {
    return std::any_of(std::begin(kChoices), std::end(kChoices),
                       [&](const CacheChoice& choice) { return choice.dtypes == dtypes; });
}

}  // namespace mixtura
