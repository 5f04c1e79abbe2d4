// A set of byte strings with a value each, searched by prefix: added tokens, SentencePiece's user-defined pieces and
// character map, Unigram's pieces.  Children of a node lie together, sorted; the first byte goes through a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mixtura {

class ByteTrie {
  public:
    static constexpr std::int32_t kNoValue = -1;

    ByteTrie() { roots_.fill(0); }
    // Values are not negative.  Of equal keys the last counts; an empty key is left out.
    explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries);

    bool is_empty() const noexcept { return nodes_.size() <= 1; }
    bool may_start_with(char first) const noexcept { return roots_[static_cast<unsigned char>(first)] != 0; }

    // Calls each(length, value) for every key that `text` starts with, shortest first.
    template <class Each>
    void for_each_prefix(std::string_view text, Each&& each) const {
        if (text.empty()) return;
        std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
        for (std::size_t length = 1; node != 0; ++length) {
            if (nodes_[node].value != kNoValue) each(length, nodes_[node].value);
            if (length == text.size()) return;
            node = child(node, static_cast<unsigned char>(text[length]));
        }
    }

    struct Match {
        std::size_t length = 0;  // 0: none
        std::int32_t value = kNoValue;
    };
    Match longest_prefix(std::string_view text) const {
        Match best;
        for_each_prefix(text, [&](std::size_t length, std::int32_t value) { best = {length, value}; });
        return best;
    }

  private:
    struct Node {
        std::int32_t value = kNoValue;
        std::uint32_t first_child = 0;
        std::uint16_t child_count = 0;
        std::uint8_t label = 0;
    };
    std::uint32_t child(std::uint32_t node, std::uint8_t label) const noexcept {
        std::uint32_t low = nodes_[node].first_child;
        std::uint32_t count = nodes_[node].child_count;
        while (count > 8) {
            const std::uint32_t half = count / 2;
            if (nodes_[low + half].label <= label) {
                low += half;
                count -= half;
            } else {
                count = half;
            }
        }
        for (; count > 0; ++low, --count) {
            if (nodes_[low].label == label) return low;
        }
        return 0;
    }
    std::array<std::uint32_t, 256> roots_{};          // node of each first byte; 0: none
    std::vector<Node> nodes_ = std::vector<Node>(1);  // [0] stands for "no node"
};

}  // namespace mixtura
