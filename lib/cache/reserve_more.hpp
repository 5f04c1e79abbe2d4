// Room in a vector ahead of a step that may not fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mixtura {

// After it, `count` more elements fit without reallocation.  Grows by doubling, as push_back does and reserve does not.
template <class T>
void reserve_more(std::vector<T>& list, std::size_t count) {
    if (list.capacity() - list.size() < count) list.reserve(std::max(list.size() + count, 2 * list.capacity()));
}

}  // namespace mixtura
