// Built breadth first from the sorted keys: a node's children are the runs of equal bytes at its depth, so each node is
// a range of keys and no recursion is needed.
#include "tokenizer/byte_trie.hpp"

#include <algorithm>

namespace mixtura {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries) {
    roots_.fill(0);
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    struct Range {
        std::uint32_t node;  // 0: the root, which is the table
        std::size_t begin, end, depth;
    };
    // Only the ranges of one depth and the next are held: never more than there are keys.
    std::vector<Range> level, next_level;
    level.push_back({0, 0, entries.size(), 0});
    while (!level.empty()) {
        next_level.clear();
        for (const Range& range : level) {
            std::size_t at = range.begin;
            for (; at < range.end && entries[at].first.size() == range.depth; ++at) {
                if (range.node != 0) nodes_[range.node].value = entries[at].second;
            }
            const auto first_child = static_cast<std::uint32_t>(nodes_.size());
            while (at < range.end) {
                const char label = entries[at].first[range.depth];
                std::size_t last = at;
                while (last < range.end && entries[last].first[range.depth] == label) ++last;
                const auto node = static_cast<std::uint32_t>(nodes_.size());
                nodes_.push_back({kNoValue, 0, 0, static_cast<std::uint8_t>(label)});
                if (range.node == 0) roots_[static_cast<unsigned char>(label)] = node;
                next_level.push_back({node, at, last, range.depth + 1});
                at = last;
            }
            if (range.node != 0) {
                nodes_[range.node].first_child = first_child;
                nodes_[range.node].child_count = static_cast<std::uint16_t>(nodes_.size() - first_child);
            }
        }
        level.swap(next_level);
    }
}

}  // namespace mixtura
