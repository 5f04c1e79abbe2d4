// How a model's keys and values are kept: one choice with a name.  lib/cache/README.md has what each costs and loses.
#pragma once

#include <mixtura/types.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mixtura {

// A DType alone means both; KVPlane says how the narrow ones lie in memory.
struct CacheDTypes {
    DType keys = DType::f16;
    DType values = DType::f16;

    constexpr CacheDTypes() noexcept = default;
    constexpr CacheDTypes(DType both) noexcept : keys(both), values(both) {}
    constexpr CacheDTypes(DType of_keys, DType of_values) noexcept : keys(of_keys), values(of_values) {}

    bool operator==(const CacheDTypes& other) const noexcept = default;
};

struct CacheChoice {
    std::string_view name;  // "f16", "q8", "f16+f8": keys + values where they differ
    CacheDTypes dtypes;
};

// All there are, widest first.  Threads: any-thread, as the next two.
std::span<const CacheChoice> cache_choices() noexcept;
// The choice's name; for other pairs those of the two dtypes, "q4_0" or "f8_e4m3+f16".
std::string cache_dtypes_name(CacheDTypes dtypes);
std::optional<CacheDTypes> cache_dtypes_from_name(std::string_view name) noexcept;

}  // namespace mixtura
