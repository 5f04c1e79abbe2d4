// For whoever checks a choice of element types for keys and values: whether it is one, and the list a refusal tells.
#pragma once

#include <mixtura/cache_dtypes.hpp>

namespace mixtura {

bool is_cache_choice(CacheDTypes dtypes) noexcept;
// "f32, f16, bf16, ... or f8"; without pairs those whose keys and values are of one type.
std::string cache_choice_list(bool with_pairs);

}  // namespace mixtura
