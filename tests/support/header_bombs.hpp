// Files whose headers lie about sizes in order to make a reader allocate, loop or overflow.  Some are sparse: 8 GiB
// long, a few kilobytes on disk, so that a lie about a count fits the bytes that are left.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mixtura::test {

struct HeaderBomb {
    std::string name;                               // also a file name
    std::function<void(const std::string&)> write;  // at this path
    std::uint64_t honest_bytes = 0;                 // memory that what is true before the lie may take
};

const std::vector<HeaderBomb>& header_bombs();

}  // namespace mixtura::test
